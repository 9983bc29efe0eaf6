#include "plugins/e2b/envd/connect/first_envelope.hpp"

#include <gtest/gtest.h>

#include "plugins/e2b/envd/connect/envelope.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/test_support.hpp"

namespace harena::e2b {
namespace {

using http::Task;

/// What a client would see.
class Seen final : public http::ResponseSink {
 public:
  Task<Status> inform(int, const http::Headers&) override { co_return ok_status(); }
  Task<Status> send(int status, const http::Headers&, std::string_view body) override {
    text = std::to_string(status) + " " + std::string(body);
    co_return ok_status();
  }
  Task<Status> begin(int status, const http::Headers&, std::optional<std::uint64_t>) override {
    text = std::to_string(status) + ":";
    co_return ok_status();
  }
  Task<Status> write(std::span<const std::byte> bytes) override {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    co_return ok_status();
  }
  Task<Status> finish(const http::Headers&) override {
    text += "|";
    co_return ok_status();
  }
  Task<Result<std::unique_ptr<http::ByteStream>>> upgrade(int, const http::Headers&) override {
    co_return make_error(ErrorCode::unimplemented, "no upgrade here");
  }
  std::string text;
};

std::string envelope(std::uint8_t flags, std::string_view payload) {
  std::string out;
  append_envelope(out, flags, payload);
  return out;
}

/// Sends `envelopes` as a stream; `gone`: what the question about the sandbox answers. How often it was asked is in `asked`.
Task<std::string> send_stream(std::vector<std::string> envelopes, bool gone, int& asked) {
  http::StringBody nothing("");
  http::Request request({"POST", "/", {}, "p"}, nothing);
  Seen seen;
  http::ResponseWriter inner(request, seen);
  FirstEnvelope sink(inner, [&]() -> Task<Result<bool>> {
    ++asked;
    const http::Headers none;
    if (gone) HARENA_CO_TRY_STATUS(co_await inner.send(502, none, "gone"));
    co_return gone;
  });
  http::ResponseWriter writer(request, sink);
  const http::Headers none;
  (void)co_await writer.begin(200, none);
  for (const auto& one : envelopes) (void)co_await writer.write(one);
  (void)co_await writer.finish();
  co_return seen.text;
}

class FirstEnvelopeTest : public ::testing::Test {
 protected:
  std::string run(std::vector<std::string> envelopes, bool gone) { return http::run_on(io_, send_stream(std::move(envelopes), gone, asked_)); }
  http::IoThreads io_{1};
  int asked_ = 0;
};

TEST_F(FirstEnvelopeTest, AStreamThatBeginsWellIsPassedOn) {
  const auto begin = envelope(0, "{}");
  const auto end = envelope(kEnvelopeEnd, "{}");
  EXPECT_EQ(run({begin, end}, true), "200:" + begin + end + "|");
  EXPECT_EQ(asked_, 0);
}

TEST_F(FirstEnvelopeTest, AnErrorInFrontAsks) {
  const auto end = envelope(kEnvelopeEnd, R"({"error":{}})");
  EXPECT_EQ(run({end}, false), "200:" + end + "|");
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(run({end}, true), "502 gone");
  EXPECT_EQ(asked_, 2);
}

/// As Rpc sends one of which nothing was told before its end.
Task<std::string> send_whole(std::string bytes, int status, bool gone, int& asked) {
  http::StringBody nothing("");
  http::Request request({"POST", "/", {}, "p"}, nothing);
  Seen seen;
  http::ResponseWriter inner(request, seen);
  FirstEnvelope sink(inner, [&]() -> Task<Result<bool>> {
    ++asked;
    const http::Headers none;
    if (gone) HARENA_CO_TRY_STATUS(co_await inner.send(502, none, "gone"));
    co_return gone;
  });
  http::ResponseWriter writer(request, sink);
  const http::Headers none;
  (void)co_await writer.send(status, none, bytes);
  co_return seen.text;
}

TEST_F(FirstEnvelopeTest, AStreamInOnePieceIsAskedAboutAsOthers) {
  const auto message = envelope(0, "{}");
  const auto end = envelope(kEnvelopeEnd, R"({"error":{}})");
  EXPECT_EQ(http::run_on(io_, send_whole(message + end, 200, true, asked_)), "200 " + message + end);
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(http::run_on(io_, send_whole(end, 200, false, asked_)), "200 " + end);
  EXPECT_EQ(http::run_on(io_, send_whole(end, 200, true, asked_)), "502 gone");
  EXPECT_EQ(asked_, 2);
  // No stream: whatever its first byte is.
  EXPECT_EQ(http::run_on(io_, send_whole("\x02...", 415, true, asked_)), "415 \x02...");
  EXPECT_EQ(asked_, 2);
}

TEST_F(FirstEnvelopeTest, AnEmptyStreamIsItsHead) { EXPECT_EQ(run({}, true), "200:|"); }

}  // namespace
}  // namespace harena::e2b
