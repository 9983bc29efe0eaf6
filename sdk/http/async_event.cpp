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

Task<bool> AsyncEvent::wait_until(std::uint64_t seen, Timer::time_point deadline) {
  const auto executor = co_await asio::this_coro::executor;
  while (true) {
    const auto timer = enlist(seen, executor);
    if (!timer) co_return true;
    timer->expires_at(deadline);
    const auto [error] = co_await timer->async_wait(asio::as_tuple(asio::use_awaitable));
    delist(timer);
    if (generation() > seen) co_return true;
    if (!error) co_return false;
    co_await asio::post(executor, asio::use_awaitable);  // the caller is cancelled: this throws
  }
}

std::shared_ptr<AsyncEvent::Timer> AsyncEvent::enlist(std::uint64_t seen,
                                                      const asio::any_io_executor& executor) {
  std::lock_guard lock(mutex_);
  if (generation_ > seen) return nullptr;
  waiters_.push_back(std::make_shared<Timer>(executor));
  return waiters_.back();
}

void AsyncEvent::delist(const std::shared_ptr<Timer>& timer) {
  std::lock_guard lock(mutex_);
  waiters_.erase(std::remove(waiters_.begin(), waiters_.end(), timer), waiters_.end());
}

}  // namespace harena::http
