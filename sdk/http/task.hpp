#pragma once
// Coroutines of the event-driven rooms: Task<T>, work that blocks, and timeouts.
//
//   Task<Status> answer(Request& request, ResponseWriter& response) {
//     HARENA_CO_TRY(auto rows, co_await blocking(pool, [&] { return store.list(); }));
//     co_return co_await response.send_json(200, to_json(rows));
//   }
//
// The surprising rule (gcc 12): no braced lists inside a co_await expression, and no co_await inside a catch
// block or a condition operator; give the value a name first.

#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <type_traits>

#include "sdk/base/result.hpp"

namespace harena::http {

/// Lazy: runs when awaited (or given to co_spawn). Cancelled from outside, the operation that it waits for ends
/// with an error `cancelled` or throws boost::system::system_error(operation_aborted); from then on every
/// co_await throws. So a Task is cleaned up by its destructors, as with any exception.
template <class T>
using Task = boost::asio::awaitable<T>;

namespace detail {
/// What runs on a pool never hears of its caller's cancellation: asio would throw it out of the pool's thread, where nobody catches it
/// (co_spawn posts its completion by a co_await that throws once it is cancelled).
inline auto uninterrupted() {
  return boost::asio::bind_cancellation_slot(boost::asio::cancellation_slot(), boost::asio::use_awaitable);
}
}  // namespace detail

/// Runs `function()` on the pool and resumes on the caller's executor with its value (or exception). It can't be
/// interrupted: a cancelled caller waits until it is through.
template <class Function>
Task<std::invoke_result_t<Function&>> blocking(boost::asio::thread_pool& pool, Function function) {
  using Value = std::invoke_result_t<Function&>;
  if constexpr (std::is_void_v<Value>) {
    auto work = [&]() -> Task<void> {
      function();
      co_return;
    };
    co_await boost::asio::co_spawn(pool, work, detail::uninterrupted());
  } else {
    std::optional<Value> value;  // Value needn't have a default
    auto work = [&]() -> Task<void> {
      value.emplace(function());
      co_return;
    };
    co_await boost::asio::co_spawn(pool, work, detail::uninterrupted());
    co_return std::move(*value);
  }
}

/// Waits; cancellable.
Task<void> sleep_for(std::chrono::nanoseconds duration);

namespace detail {
template <class T>
Task<void> store_result(Task<T> task, std::optional<T>& out) {
  out.emplace(co_await std::move(task));
}
}  // namespace detail

/// The task's result, or deadline_exceeded naming `what` after `timeout`; the task is cancelled and has ended
/// by then.
template <class T>
Task<Result<T>> with_timeout(Task<Result<T>> task, std::chrono::nanoseconds timeout, const char* what) {
  namespace asio = boost::asio;
  auto executor = co_await asio::this_coro::executor;
  std::optional<Result<T>> result;
  asio::steady_timer timer(executor, timeout);
  auto [order, failure, timer_error] =
      co_await asio::experimental::make_parallel_group(
          asio::co_spawn(executor, detail::store_result(std::move(task), result), asio::deferred),
          timer.async_wait(asio::deferred))
          .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  const bool timed_out = order[0] == 1 && !timer_error;
  if (failure && !timed_out) std::rethrow_exception(failure);
  if (result && !timed_out) co_return std::move(*result);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  co_return make_error(ErrorCode::deadline_exceeded,
                       std::string(what) + " took longer than " + std::to_string(ms) + " ms");
}

}  // namespace harena::http
