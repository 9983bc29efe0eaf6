#include "core/api/session/live_answer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include "sdk/http/request.hpp"

namespace harena {
namespace {

using http::Task;

/// Keeps what was answered, and tells when `awaited` signs of life have come.
class Sink : public http::ResponseSink {
 public:
  explicit Sink(boost::asio::io_context& io) : told(io, boost::asio::steady_timer::time_point::max()) {}
  Task<Status> inform(int, const http::Headers&) override { co_return ok_status(); }
  Task<Status> send(int, const http::Headers&, std::string_view) override { co_return ok_status(); }
  Task<Status> begin(int status, const http::Headers& headers, std::optional<std::uint64_t>) override {
    begun = std::to_string(status) + " " + std::string(headers.get("Content-Type").value_or(""));
    co_return ok_status();
  }
  Task<Status> write(std::span<const std::byte> bytes) override {
    if (is_gone) co_return make_error(ErrorCode::unavailable, "the client has gone");
    body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (body.size() >= awaited) told.cancel();
    co_return ok_status();
  }
  Task<Status> finish(const http::Headers&) override { co_return ok_status(); }
  Task<Result<std::unique_ptr<http::ByteStream>>> upgrade(int, const http::Headers&) override {
    co_return make_error(ErrorCode::unimplemented, "no upgrades here");
  }

  boost::asio::steady_timer told;
  std::size_t awaited = 3;
  bool is_gone = false;
  std::string begun, body;
};

class LiveAnswerTest : public ::testing::Test {
 protected:
  Task<Status> until_told() {
    boost::system::error_code ignored;
    co_await sink.told.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    co_return outcome_of_work;
  }
  Task<Status> at_once() { co_return outcome_of_work; }
  Status wait_for(Task<Status> work, SignsOfLife signs) {
    http::Headers head;
    head.set("Content-Type", "application/json");
    LiveAnswer answer(response, std::move(signs));
    std::optional<Status> result;
    boost::asio::co_spawn(io, answer.wait_for(std::move(work), std::move(head)), [&](std::exception_ptr failed, Status status) {
      EXPECT_FALSE(failed);
      result = std::move(status);
    });
    io.run();
    EXPECT_TRUE(result.has_value());
    return result.value_or(ok_status());
  }
  SignsOfLife soon() const { return {.sign = "\n", .first = std::chrono::milliseconds(1), .every = std::chrono::milliseconds(1)}; }

  boost::asio::io_context io;
  http::StringBody no_body{""};
  http::Request request{http::Request::Head{}, no_body};
  Sink sink{io};
  http::ResponseWriter response{request, sink};
  Status outcome_of_work;
};

TEST_F(LiveAnswerTest, WorkThatTakesLongGetsSignsOfLifeInFrontOfItsAnswer) {
  EXPECT_TRUE(wait_for(until_told(), soon()));
  EXPECT_TRUE(response.begun());
  EXPECT_FALSE(response.finished()) << "the end is the caller's";
  EXPECT_EQ(sink.begun, "200 application/json");
  EXPECT_GE(sink.body.size(), 3u);
  EXPECT_EQ(sink.body.find_first_not_of('\n'), std::string::npos);
}

TEST_F(LiveAnswerTest, WorkThatIsDoneBeforeTheFirstSignHasItsWholeAnswerToItself) {
  EXPECT_TRUE(wait_for(at_once(), SignsOfLife{.sign = "\n"}));
  EXPECT_FALSE(response.begun());
  EXPECT_EQ(sink.body, "");
}

TEST_F(LiveAnswerTest, WhatFailsBeforeTheFirstSignIsStillAnAnswerOfItsOwn) {
  outcome_of_work = make_error(ErrorCode::unavailable, "the shim has died");
  const auto failed = wait_for(at_once(), SignsOfLife{.sign = "\n"});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "the shim has died");
  EXPECT_FALSE(response.begun());
}

TEST_F(LiveAnswerTest, AClientThatHasGoneEndsTheWaiting) {
  sink.is_gone = true;
  const auto failed = wait_for(until_told(), soon());
  ASSERT_FALSE(failed);
}

}  // namespace
}  // namespace harena
