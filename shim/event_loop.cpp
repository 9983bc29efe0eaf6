#include "shim/event_loop.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace harena::shim {

Result<std::unique_ptr<EventLoop>> EventLoop::create(const Clock& clock) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return errno_error(errno, "epoll_create1");
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll), clock));
}

EventLoop::Id EventLoop::watch(int fd, std::uint32_t events, Handler handler) {
  Id id = next_id_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  watches_.emplace(id, Watch{fd, std::make_shared<Handler>(std::move(handler))});
  return id;
}

void EventLoop::modify(Id id, std::uint32_t events) {
  auto it = watches_.find(id);
  if (it == watches_.end()) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, it->second.fd, &event);
}

void EventLoop::forget(Id& id) {
  auto it = watches_.find(std::exchange(id, 0));
  if (it == watches_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, it->second.fd, nullptr);
  watches_.erase(it);
}

EventLoop::Id EventLoop::after_ms(std::int64_t ms, std::function<void()> action) {
  Id id = next_id_++;
  std::int64_t deadline = clock_.monotonic_ns() + ms * 1'000'000;
  timers_.emplace(std::pair(deadline, id), std::move(action));
  timer_deadlines_.emplace(id, deadline);
  return id;
}

void EventLoop::cancel(Id& timer) {
  auto it = timer_deadlines_.find(std::exchange(timer, 0));
  if (it == timer_deadlines_.end()) return;
  timers_.erase({it->second, it->first});
  timer_deadlines_.erase(it);
}

int EventLoop::wait_ms() const {
  if (!deferred_.empty()) return 0;
  if (timers_.empty()) return -1;
  std::int64_t left = timers_.begin()->first.first - clock_.monotonic_ns();
  return static_cast<int>(std::clamp<std::int64_t>((left + 999'999) / 1'000'000, 0, 60'000));
}

void EventLoop::run_timers() {
  std::int64_t now = clock_.monotonic_ns();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    auto node = timers_.extract(timers_.begin());
    timer_deadlines_.erase(node.key().second);
    node.mapped()();
  }
}

void EventLoop::run_deferred() {
  while (!deferred_.empty()) {
    auto actions = std::exchange(deferred_, {});
    for (auto& action : actions) action();
  }
}

void EventLoop::forget_all() {
  // What is dropped may drop more.
  while (!timers_.empty() || !deferred_.empty()) {
    auto timers = std::exchange(timers_, {});
    auto deferred = std::exchange(deferred_, {});
    timer_deadlines_.clear();
  }
}

void EventLoop::run() {
  std::array<epoll_event, 64> events;
  while (!stopped_) {
    int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms());
    for (int i = 0; i < count; ++i) {
      auto it = watches_.find(events[static_cast<std::size_t>(i)].data.u64);
      if (it == watches_.end()) continue;
      auto handler = it->second.handler;
      (*handler)(events[static_cast<std::size_t>(i)].events);
    }
    run_timers();
    run_deferred();
  }
}

}  // namespace harena::shim
