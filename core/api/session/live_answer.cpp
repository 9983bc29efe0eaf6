#include "core/api/session/live_answer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <algorithm>
#include <span>

namespace harena {

using http::Task;

Task<Status> LiveAnswer::run(Task<Status> copy) {
  HARENA_CO_TRY_STATUS(co_await accompany(std::move(copy)));
  co_return co_await response_.finish_with(std::as_bytes(std::span(last_)));
}

Task<Status> LiveAnswer::wait_for(Task<Status> work, http::Headers head) {
  head_ = std::move(head);
  co_return co_await accompany(std::move(work));
}

/// Also when it is the clock that ends first, because the other side has gone.
Task<Status> LiveAnswer::accompany(Task<Status> copy) {
  auto executor = co_await boost::asio::this_coro::executor;
  auto group = boost::asio::experimental::make_parallel_group(
      boost::asio::co_spawn(executor, finish_by(std::move(copy)), boost::asio::deferred),
      boost::asio::co_spawn(executor, keep_alive(), boost::asio::deferred));
  auto [order, failed, clock_failed] =
      co_await group.async_wait(boost::asio::experimental::wait_for_one(), boost::asio::use_awaitable);
  if (failed && (order[0] == 0 || gone_.ok())) std::rethrow_exception(failed);
  HARENA_CO_TRY_STATUS(std::move(gone_));
  co_return std::move(outcome_);
}

Task<Status> LiveAnswer::write(std::string bytes) {
  auto guard = co_await mutex_.lock();
  if (done_) co_return ok_status();
  const auto piece = std::as_bytes(std::span(bytes));
  if (response_.begun()) co_return co_await response_.write(piece);
  co_return co_await response_.begin_with(200, head_, std::nullopt, piece);
}

Task<void> LiveAnswer::finish_by(Task<Status> copy) {
  outcome_ = co_await std::move(copy);
  auto guard = co_await mutex_.lock();
  done_ = true;
}

Task<void> LiveAnswer::keep_alive() {
  for (auto pause = signs_.first;; pause = signs_.every) {
    co_await http::sleep_for(pause);
    auto written = co_await write(signs_.sign);
    if (done_) co_return;
    if (written) continue;
    // The other side has gone: ends the copy too.
    gone_ = written;
    co_return;
  }
}

}  // namespace harena
