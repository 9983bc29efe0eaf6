#include "core/api/session/live_answer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <chrono>

namespace harena {

using http::Task;

namespace {

constexpr std::chrono::seconds kKeepAlive{15};

}  // namespace

Task<Status> LiveAnswer::run(Task<Status> copy) {
  auto executor = co_await boost::asio::this_coro::executor;
  auto group = boost::asio::experimental::make_parallel_group(
      boost::asio::co_spawn(executor, finish_by(std::move(copy)), boost::asio::deferred),
      boost::asio::co_spawn(executor, keep_alive(), boost::asio::deferred));
  auto [order, failed, clock_failed] =
      co_await group.async_wait(boost::asio::experimental::wait_for_one(), boost::asio::use_awaitable);
  if (failed && order[0] == 0) std::rethrow_exception(failed);
  HARENA_CO_TRY_STATUS(std::move(outcome_));
  co_return co_await response_.finish_with(std::as_bytes(std::span(last_)));
}

Task<Status> LiveAnswer::write(std::string bytes) {
  auto guard = co_await mutex_.lock();
  if (done_) co_return ok_status();
  co_return co_await response_.write(bytes);
}

Task<void> LiveAnswer::finish_by(Task<Status> copy) {
  outcome_ = co_await std::move(copy);
  auto guard = co_await mutex_.lock();
  done_ = true;
}

Task<void> LiveAnswer::keep_alive() {
  for (;;) {
    co_await http::sleep_for(kKeepAlive);
    auto written = co_await write(sign_);
    // The other side has gone: ends the copy too.
    if (!written || done_) co_return;
  }
}

}  // namespace harena
