#pragma once
// Ticker: wakes the loop's owner every so often, for what has no descriptor to wait on (a socket that another process will make).

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>

#include "sdk/vmm/event_loop.hpp"

namespace harena::microvm {

class Ticker {
 public:
  explicit Ticker(vmm::EventLoop& loop) : loop_(loop) {}
  ~Ticker() { stop(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  /// Calls `tick` from the loop every interval_ns, the first time after one. It may stop the ticker.
  Status start(std::int64_t interval_ns, std::function<void()> tick) {
    stop();
    timer_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer_) return errno_error(errno, "timerfd_create");
    const timespec step{interval_ns / 1'000'000'000, interval_ns % 1'000'000'000};
    const itimerspec when{step, step};
    if (::timerfd_settime(timer_.get(), 0, &when, nullptr) != 0) return errno_error(errno, "timerfd_settime");
    return loop_.watch(timer_.get(), EPOLLIN, [fd = timer_.get(), tick = std::move(tick)](std::uint32_t) {
      std::uint64_t missed = 0;
      if (::read(fd, &missed, sizeof missed) > 0) tick();
    });
  }
  /// Idempotent.
  void stop() {
    if (timer_) loop_.unwatch(timer_.get());
    timer_.reset();
  }

 private:
  vmm::EventLoop& loop_;
  UniqueFd timer_;
};

}  // namespace harena::microvm
