#include "plugins/e2b/envd/connect/live_rpc.hpp"

#include <gtest/gtest.h>

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

Task<Status> stream(SlowSink& sink) {
  http::StringBody nothing("");
  http::Headers headers;
  headers.add("Content-Type", "application/connect+proto");
  http::Request request({"POST", "/process.Process/Start", std::move(headers), "p"}, nothing);
  http::ResponseWriter response(request, sink);
  Rpc rpc(request, response);
  HARENA_CO_TRY_STATUS(rpc.open());
  const process::StartResponse keepalive;
  auto outcome = co_await run_live(rpc, held_and_over(rpc, sink), keepalive, std::nullopt);
  co_return co_await rpc.end(std::move(outcome));
}

TEST(LiveRpc, AnEndWhileSomethingGoesOutCutsNothing) {
  http::IoThreads io(1);
  SlowSink sink;
  const auto ended = http::run_on(io, stream(sink));
  EXPECT_TRUE(ended.ok()) << ended.error().describe();
  EXPECT_TRUE(sink.finished);
  EXPECT_GT(sink.written, 2 * 5u) << "both messages and the end";
}

}  // namespace
}  // namespace harena::e2b
