#include "core/cli/signals.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace harena::cli {

Result<BlockedSignals> BlockedSignals::block(std::initializer_list<int> signals) {
  sigset_t set;
  sigset_t before;
  ::sigemptyset(&set);
  for (const int number : signals) ::sigaddset(&set, number);
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return errno_error(errno, "signalfd");
  ::pthread_sigmask(SIG_BLOCK, &set, &before);
  return BlockedSignals(std::move(fd), before);
}

BlockedSignals::BlockedSignals(BlockedSignals&& other) noexcept : fd_(std::move(other.fd_)), before_(other.before_) {}

BlockedSignals::~BlockedSignals() {
  if (fd_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int BlockedSignals::take() const {
  signalfd_siginfo info{};
  return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

SignalWatcher::SignalWatcher(const BlockedSignals& signals, std::function<void(int)> on_signal)
    : signals_(signals), on_signal_(std::move(on_signal)), stop_(::eventfd(0, EFD_CLOEXEC)), thread_([this] { run(); }) {}

SignalWatcher::~SignalWatcher() {
  wake(stop_);
  thread_.join();
}

void SignalWatcher::run() {
  std::array<pollfd, 2> waited = {pollfd{signals_.fd(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
  while (true) {
    if (::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) return;
    if (waited[1].revents != 0) return;
    if (const int number = signals_.take(); number != 0) on_signal_(number);
  }
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? std::to_string(number) : name;
}

int signal_number(const std::string& name) {
  for (int number = 1; number < NSIG; ++number) {
    const char* known = ::sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return 0;
}

Result<UniqueFd> make_wakeup() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) return errno_error(errno, "eventfd");
  return fd;
}

void wake(const UniqueFd& wakeup) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(wakeup.get(), &one, sizeof one);  // full means it is awake already
}

}  // namespace harena::cli
