#pragma once
// AsyncEvent: wakes coroutines when something changed; the coroutine's answer to a condition variable.
//
//   auto seen = event.generation();
//   while (!ready()) { co_await event.wait_past(seen); seen = event.generation(); }
//
// Read the generation before looking at the condition, and no notification is lost.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "sdk/http/task.hpp"

namespace harena::http {

/// Thread-safe. Waiters must run on executors with one thread at a time (an IoThreads loop or a strand). It must
/// outlive its waiters; a waiter that is destroyed in mid-wait is forgotten.
class AsyncEvent {
 public:
  /// How often notify() was called.
  std::uint64_t generation() const;
  /// Wakes all who wait. Never blocks.
  void notify();
  /// Returns as soon as generation() > seen; cancellable.
  Task<void> wait_past(std::uint64_t seen);
  /// The same; false when `timeout` passed first.
  Task<bool> wait_past_for(std::uint64_t seen, std::chrono::nanoseconds timeout);

 private:
  using Timer = boost::asio::steady_timer;
  Task<bool> wait_until(std::uint64_t seen, Timer::time_point deadline);
  class Waiter;

  mutable std::mutex mutex_;
  std::uint64_t generation_ = 0;
  std::vector<std::shared_ptr<Timer>> waiters_;
};

}  // namespace harena::http
