#include "sdk/base/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace harena {

void fill_standard_streams() {
  // The lowest free number is taken, so all below the first that is above 2 are in use.
  for (;;) {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd > STDERR_FILENO) ::close(fd);
    if (fd < 0 || fd > STDERR_FILENO) return;
    ::fcntl(fd, F_SETFD, 0);  // like those that are inherited
  }
}

}  // namespace harena
