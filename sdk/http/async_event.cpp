#include "sdk/http/async_event.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>

namespace harena::http {
namespace asio = boost::asio;

Task<void> sleep_for(std::chrono::nanoseconds duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  co_await timer.async_wait(asio::use_awaitable);
}

std::uint64_t AsyncEvent::generation() const {
  std::lock_guard lock(mutex_);
  return generation_;
}

// The timer is cancelled on the waiter's own executor: it isn't thread-safe, and so it is surely armed by then.
void AsyncEvent::notify() {
  std::vector<std::shared_ptr<Timer>> woken;
  {
    std::lock_guard lock(mutex_);
    ++generation_;
    woken.swap(waiters_);
  }
  for (auto& timer : woken) {
    asio::post(timer->get_executor(), [timer] { timer->cancel(); });
  }
}

Task<void> AsyncEvent::wait_past(std::uint64_t seen) {
  co_await wait_until(seen, Timer::time_point::max());
}

Task<bool> AsyncEvent::wait_past_for(std::uint64_t seen, std::chrono::nanoseconds timeout) {
  co_return co_await wait_until(seen, Timer::clock_type::now() + timeout);
}

// Enlisted while it lives, so that a destroyed coroutine leaves nothing behind.
class AsyncEvent::Waiter {
 public:
  Waiter(AsyncEvent& event, const asio::any_io_executor& executor)
      : event_(event), timer_(std::make_shared<Timer>(executor)) {}
  ~Waiter() {
    std::lock_guard lock(event_.mutex_);
    auto& waiters = event_.waiters_;
    waiters.erase(std::remove(waiters.begin(), waiters.end(), timer_), waiters.end());
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// False if the generation has passed already.
  bool enlist(std::uint64_t seen) {
    std::lock_guard lock(event_.mutex_);
    if (event_.generation_ > seen) return false;
    event_.waiters_.push_back(timer_);
    return true;
  }
  Timer& timer() { return *timer_; }

 private:
  AsyncEvent& event_;
  std::shared_ptr<Timer> timer_;
};

Task<bool> AsyncEvent::wait_until(std::uint64_t seen, Timer::time_point deadline) {
  const auto executor = co_await asio::this_coro::executor;
  Waiter waiter(*this, executor);
  waiter.timer().expires_at(deadline);
  if (!waiter.enlist(seen)) co_return true;
  const auto [error] = co_await waiter.timer().async_wait(asio::as_tuple(asio::use_awaitable));
  if (generation() > seen) co_return true;
  if (error) co_await asio::post(executor, asio::use_awaitable);  // the caller is cancelled: this throws
  co_return false;
}

}  // namespace harena::http
