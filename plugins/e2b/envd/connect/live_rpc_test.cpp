#include "plugins/e2b/envd/connect/live_rpc.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "plugins/e2b/envd/proto/process.pb.h"
#include "sdk/http/async_event.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/test_support.hpp"

namespace harena::e2b {
namespace {

using http::Task;

/// A client that takes its first piece slowly.
class SlowSink final : public http::ResponseSink {
 public:
  Task<Status> inform(int, const http::Headers&) override { co_return ok_status(); }
  Task<Status> send(int, const http::Headers&, std::string_view) override { co_return ok_status(); }
  Task<Status> begin(int, const http::Headers&, std::optional<std::uint64_t>) override { co_return ok_status(); }
  Task<Status> write(std::span<const std::byte> bytes) override {
    writing.notify();
    co_await http::sleep_for(std::chrono::milliseconds(30));
    written += bytes.size();
    co_return ok_status();
  }
  Task<Status> finish(const http::Headers&) override {
    finished = true;
    co_return ok_status();
  }
  Task<Result<std::unique_ptr<http::ByteStream>>> upgrade(int, const http::Headers&) override {
    co_return make_error(ErrorCode::unimplemented, "no upgrade here");
  }
  http::AsyncEvent writing;
  std::size_t written = 0;
  bool finished = false;
  Status outcome;
};

/// A command whose end is known while what it had printed goes out.
Task<Status> held_and_over(Rpc& rpc, SlowSink& sink) {
  process::StartResponse message;
  message.mutable_event()->mutable_keepalive();
  HARENA_CO_TRY_STATUS(rpc.hold(message));
  co_await sink.writing.wait_past(0);
  HARENA_CO_TRY_STATUS(rpc.hold(message));
  co_return ok_status();
}

/// A command that prints without a pause.
Task<Status> flood(Rpc& rpc) {
  process::StartResponse message;
  message.mutable_event()->mutable_keepalive();
  for (;;) HARENA_CO_TRY_STATUS(co_await rpc.send(message));
}

using Copy = std::function<Task<Status>(Rpc&)>;

Task<Status> stream(SlowSink& sink, Copy copy, std::optional<std::chrono::milliseconds> deadline) {
  http::StringBody nothing("");
  http::Headers headers;
  headers.add("Content-Type", "application/connect+proto");
  http::Request request({"POST", "/process.Process/Start", std::move(headers), "p"}, nothing);
  http::ResponseWriter response(request, sink);
  Rpc rpc(request, response);
  HARENA_CO_TRY_STATUS(rpc.open());
  const process::StartResponse keepalive;
  auto outcome = co_await run_live(rpc, copy(rpc), keepalive, deadline);
  sink.outcome = outcome;
  co_return co_await rpc.end(std::move(outcome));
}

TEST(LiveRpc, AnEndWhileSomethingGoesOutCutsNothing) {
  http::IoThreads io(1);
  SlowSink sink;
  const Copy copy = [&sink](Rpc& rpc) { return held_and_over(rpc, sink); };
  const auto ended = http::run_on(io, stream(sink, copy, std::nullopt));
  EXPECT_TRUE(ended.ok()) << ended.error().describe();
  EXPECT_TRUE(sink.finished);
  EXPECT_GT(sink.written, 2 * 5u) << "both messages and the end";
}

TEST(LiveRpc, ADeadlineWhileSomethingGoesOutCutsNothing) {
  http::IoThreads io(1);
  SlowSink sink;
  const auto ended = http::run_on(io, stream(sink, flood, std::chrono::milliseconds(75)));
  EXPECT_TRUE(ended.ok()) << ended.error().describe();
  EXPECT_TRUE(sink.finished) << "the end in words behind the last message";
  EXPECT_EQ(sink.outcome.error().code, ErrorCode::deadline_exceeded);
}

}  // namespace
}  // namespace harena::e2b
