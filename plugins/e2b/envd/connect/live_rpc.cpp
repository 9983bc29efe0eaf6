#include "plugins/e2b/envd/connect/live_rpc.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <google/protobuf/message.h>

#include <algorithm>

namespace harena::e2b {

using http::Task;

namespace {

struct Live {
  Rpc& rpc;
  const google::protobuf::Message& keepalive;
  std::optional<std::chrono::milliseconds> deadline;
  /// Whoever ends first says what it was; the other is called off, and has nothing to say any more.
  std::optional<Status> outcome;

  void end(Status status) {
    if (!outcome) outcome = std::move(status);
  }
};

/// The clock may be at a write: who ends it now would cut a message.
Task<void> keep_outcome(Live& live, Task<Status> copy) {
  live.end(co_await std::move(copy));
  co_await live.rpc.settle();
}

using SteadyClock = std::chrono::steady_clock;

/// What is held waits so long for more: a command that ends at once is told in one piece.
constexpr std::chrono::milliseconds kCompany{5};

/// A client that doesn't take its bytes for so long isn't told of the end in words.
constexpr std::chrono::seconds kPatience{2};

Task<Result<bool>> settled(Rpc& rpc) {
  co_await rpc.settle();
  co_return true;
}

/// The copy may be at a write, as the clock may be above.
Task<void> end_in_time(Live& live) {
  live.end(make_error(ErrorCode::deadline_exceeded, "the stream's time of " + std::to_string(live.deadline->count()) + " ms is over"));
  (void)co_await http::with_timeout(settled(live.rpc), kPatience, "a write to the client");
}

/// One clock for all three: what is held goes out, then signs of life, until the deadline.
Task<void> keep_time(Live& live) {
  const auto end = live.deadline ? SteadyClock::now() + *live.deadline : SteadyClock::time_point::max();
  auto flushed = ok_status();
  for (SteadyClock::duration pause = kCompany; flushed; pause = live.rpc.keepalive()) {
    const auto left = end - SteadyClock::now();
    co_await http::sleep_for(std::chrono::ceil<std::chrono::milliseconds>(std::min(pause, left)));
    if (left <= pause) co_return co_await end_in_time(live);
    if (pause == kCompany) flushed = co_await live.rpc.flush();
    else if (live.rpc.begun()) flushed = co_await live.rpc.send(live.keepalive);
  }
  live.end(std::move(flushed));  // the client has gone
}

}  // namespace

Task<Status> run_live(Rpc& rpc, Task<Status> copy, const google::protobuf::Message& keepalive,
                      std::optional<std::chrono::milliseconds> deadline) {
  namespace asio = boost::asio;
  Live live{rpc, keepalive, deadline, std::nullopt};
  auto executor = co_await asio::this_coro::executor;
  auto group = asio::experimental::make_parallel_group(asio::co_spawn(executor, keep_outcome(live, std::move(copy)), asio::deferred),
                                                       asio::co_spawn(executor, keep_time(live), asio::deferred));
  auto [order, copy_failed, clock_failed] =
      co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  if (copy_failed && order[0] == 0) std::rethrow_exception(copy_failed);
  co_return live.outcome ? *std::move(live.outcome) : make_error(ErrorCode::cancelled, "the stream was cut off");
}

}  // namespace harena::e2b
