#include "core/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

namespace harena::cli {

client::PtySize window_size() {
  winsize size{};
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) {
    if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) return {size.ws_row, size.ws_col};
  }
  return {};
}

Result<RawMode> RawMode::enter() {
  termios before{};
  if (::tcgetattr(STDIN_FILENO, &before) != 0) {
    return make_error(ErrorCode::failed_precondition, "-t needs a terminal on stdin, and there is none; leave -t out to pipe");
  }
  termios raw = before;
  ::cfmakeraw(&raw);
  if (::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0) return errno_error(errno, "putting the terminal into raw mode");
  return RawMode(before);
}

RawMode::RawMode(RawMode&& other) noexcept : before_(other.before_), active_(other.active_) { other.active_ = false; }

RawMode::~RawMode() {
  if (active_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

}  // namespace harena::cli
