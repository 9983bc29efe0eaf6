#include "plugins/e2b/envd/connect/live_rpc.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <google/protobuf/message.h>

namespace harena::e2b {

using http::Task;

namespace {

struct Live {
  Rpc& rpc;
  const google::protobuf::Message& keepalive;
  std::optional<std::chrono::milliseconds> deadline;
  Status outcome = make_error(ErrorCode::cancelled, "the stream was cut off");
};

Task<void> keep_outcome(Live& live, Task<Status> copy) { live.outcome = co_await std::move(copy); }

Task<void> keep_alive(Live& live) {
  for (;;) {
    co_await http::sleep_for(live.rpc.keepalive());
    if (!live.rpc.begun()) continue;
    auto sent = co_await live.rpc.send(live.keepalive);
    if (!sent) {
      live.outcome = std::move(sent);
      co_return;  // the client has gone
    }
  }
}

Task<void> end_at_deadline(Live& live) {
  if (!live.deadline) {
    for (;;) co_await http::sleep_for(std::chrono::hours(24));
  }
  co_await http::sleep_for(*live.deadline);
  live.outcome = make_error(ErrorCode::deadline_exceeded, "the stream's time of " + std::to_string(live.deadline->count()) + " ms is over");
}

}  // namespace

Task<Status> run_live(Rpc& rpc, Task<Status> copy, const google::protobuf::Message& keepalive,
                      std::optional<std::chrono::milliseconds> deadline) {
  namespace asio = boost::asio;
  Live live{rpc, keepalive, deadline};
  auto executor = co_await asio::this_coro::executor;
  auto group = asio::experimental::make_parallel_group(asio::co_spawn(executor, keep_outcome(live, std::move(copy)), asio::deferred),
                                                       asio::co_spawn(executor, keep_alive(live), asio::deferred),
                                                       asio::co_spawn(executor, end_at_deadline(live), asio::deferred));
  auto [order, copy_failed, alive_failed, deadline_failed] =
      co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  if (copy_failed && order[0] == 0) std::rethrow_exception(copy_failed);
  co_return std::move(live.outcome);
}

}  // namespace harena::e2b
