#pragma once
// For callers without a loop of their own: runs one conversation with a session endpoint on the calling thread.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <utility>

#include "sdk/http/task.hpp"

namespace harena::session {

/// The task's value; T is a Result or a Status. [blocking] An exception of the task is `internal`. Clients that the task uses are the
/// thread's own: their idle connections belong to a loop that is gone afterwards.
template <class T>
T run_blocking(http::Task<T> task) {
  boost::asio::io_context io(1);
  std::optional<T> out;
  boost::asio::co_spawn(io, http::detail::store_result(std::move(task), out), [](std::exception_ptr) {});
  io.run();
  if (out) return std::move(*out);
  return make_error(ErrorCode::internal, "a conversation with a session endpoint broke off");
}

}  // namespace harena::session
