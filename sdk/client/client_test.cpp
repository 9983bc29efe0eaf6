// The parts of the client that need no server; what needs one is driven through the CLI in tests/cli.

#include "sdk/client/client.hpp"

#include <gtest/gtest.h>

#include "sdk/client/commands.hpp"
#include "sdk/client/files.hpp"

namespace harena::client {
namespace {

Error error_with(Retry retry, Cause cause = Cause::none, std::string detail = "") {
  auto error = make_error(ErrorCode::unavailable, "x");
  error.retry = retry;
  error.cause = cause;
  error.cause_detail = std::move(detail);
  return error;
}

TEST(AttemptsTest, RepeatsOnlyWhatIsSafe) {
  SeededRandom random(1);
  const RetryPolicy policy;
  const auto tries = [&] { return Attempts(policy, random, [](auto) {}); };
  EXPECT_TRUE(tries().again(error_with(Retry::other_node), false));
  EXPECT_FALSE(tries().again(error_with(Retry::never), true));
  EXPECT_TRUE(tries().again(error_with(Retry::never, Cause::infrastructure, kNotSent), false));
  EXPECT_TRUE(tries().again(error_with(Retry::never, Cause::infrastructure, kConnectionLost), true));
  EXPECT_FALSE(tries().again(error_with(Retry::same_node, Cause::infrastructure, kConnectionLost), false));
}

TEST(AttemptsTest, PausesGrowToALimitAndEnd) {
  SeededRandom random(1);
  std::vector<std::int64_t> pauses;
  Attempts tries({.attempts = 9}, random, [&](std::chrono::milliseconds pause) { pauses.push_back(pause.count()); });
  int count = 1;
  while (tries.again(error_with(Retry::same_node), true)) ++count;
  EXPECT_EQ(count, 9);
  std::int64_t full = 100;
  for (const auto pause : pauses) {
    EXPECT_GE(pause, full / 2);
    EXPECT_LE(pause, full);
    full = std::min<std::int64_t>(full * 2, 5'000);
  }
}

TEST(WireTest, ErrorsKeepWhatTheServerSaid) {
  const auto error = error_from_json({{"code", "not_found"},
                                      {"message", "there is no program 'x'"},
                                      {"cause", "agent"},
                                      {"retry", "never"},
                                      {"details", {{"reason", "no_such_program"}}}},
                                     404);
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_EQ(error.cause, Cause::agent);
  EXPECT_EQ(error.cause_detail, "no_such_program");
  EXPECT_EQ(error_from_json(json("odd"), 503).code, ErrorCode::unavailable);
  EXPECT_EQ(error_from_json({{"code", 7}, {"message", json::array()}}, 404).code, ErrorCode::not_found);
}

TEST(WireTest, AnyBytesTravel) {
  json object;
  put_bytes(object, "path", "/\xff");
  put_bytes(object, "target", "/ok");
  EXPECT_EQ(object["path_b64"], "L/8=");
  EXPECT_EQ(get_bytes(object, "path"), "/\xff");
  EXPECT_EQ(get_bytes(object, "target"), "/ok");
  EXPECT_EQ(get_bytes(object, "absent"), std::nullopt);
  EXPECT_EQ(query({{"path", "/a b&\n"}, {"user", ""}, {"x", "1"}}), "?path=%2Fa%20b%26%0A&x=1");
}

TEST(CommandsTest, ArgumentsThatJsonCantCarryAreNamed) {
  Client client(*parse_url("http://127.0.0.1:1"), {.retry = {.attempts = 1}});
  const auto started = Commands(client, "x").start({.argv = {"cat", "\xff"}});
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(started.error().message.find("argument 1"), std::string::npos);
}

TEST(ClientTest, NobodyThereIsAnInfrastructureErrorThatNamesTheServer) {
  Client client(*parse_url("http://127.0.0.1:1"), {.retry = {.attempts = 1}});
  const auto answer = client.get("/version");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().cause, Cause::infrastructure);
  EXPECT_EQ(answer.error().cause_detail, kNotSent);
  EXPECT_NE(answer.error().message.find("http://127.0.0.1:1"), std::string::npos);
}

TEST(FilesTest, Octal) {
  EXPECT_EQ(octal(0644), "0644");
  EXPECT_EQ(octal(04755), "4755");
  EXPECT_EQ(octal(0), "0000");
}

}  // namespace
}  // namespace harena::client
