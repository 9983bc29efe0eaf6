#include "sdk/base/signal_mask.hpp"

#include <signal.h>

namespace harena {

void block_all_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace harena
