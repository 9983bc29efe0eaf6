#include "sdk/vmm/event_loop.hpp"

#include <sys/epoll.h>

#include <cerrno>

#include "sdk/support/process.hpp"

namespace harena::vmm {

Result<std::unique_ptr<EventLoop>> EventLoop::make() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return errno_error(errno, "epoll_create1");
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll)));
}

Status EventLoop::watch(int fd, std::uint32_t events, Handler handler) {
  epoll_event event{events, {.u64 = static_cast<std::uint64_t>(static_cast<std::uint32_t>(fd))}};
  const bool known = watches_.count(fd) != 0;
  if (::epoll_ctl(epoll_.get(), known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) != 0) return errno_error(errno, "epoll_ctl");
  watches_[fd] = std::make_shared<Handler>(std::move(handler));
  return {};
}

void EventLoop::unwatch(int fd) {
  if (watches_.erase(fd) != 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Status EventLoop::turn(int timeout_ms) {
  epoll_event ready{};
  const int count = ::epoll_wait(epoll_.get(), &ready, 1, timeout_ms);
  if (count < 0 && errno != EINTR) return errno_error(errno, "epoll_wait");
  if (count <= 0) return {};
  auto found = watches_.find(static_cast<int>(ready.data.u64));
  if (found == watches_.end()) return {};
  // Its own copy: the handler may unwatch itself.
  const auto handler = found->second;
  (*handler)(ready.events);
  return {};
}

Status EventLoop::run_until(const std::function<bool()>& done, std::int64_t deadline_ns, const std::string& what) {
  while (!done()) {
    if (deadline_ns != 0 && monotonic_now_ns() >= deadline_ns) {
      return make_error(ErrorCode::deadline_exceeded, "waiting for " + what + " took too long");
    }
    HARENA_TRY_STATUS(turn(deadline_ns == 0 ? -1 : poll_timeout_ms(deadline_ns)));
  }
  return {};
}

}  // namespace harena::vmm
