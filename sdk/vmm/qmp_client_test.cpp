// Against a QEMU that says what the test wants it to.

#include "sdk/vmm/qmp_client.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "sdk/support/process.hpp"

namespace harena::vmm {
namespace {

constexpr const char* kGreeting = R"({"QMP": {"version": {"qemu": {"micro": 1, "minor": 2, "major": 7}}, "capabilities": []}})" "\n";

/// Answers each line that it gets with the next of its script; "{id}" is the number of the request.
class Script {
 public:
  explicit Script(std::vector<std::string> lines) : lines_(std::move(lines)) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client_ = UniqueFd(ends[0]);
    server_ = UniqueFd(ends[1]);
    thread_ = std::thread([this] { run(); });
  }
  ~Script() {
    ::shutdown(server_.get(), SHUT_RDWR);
    thread_.join();
  }
  UniqueFd take() { return std::move(client_); }

 private:
  void say(std::string text) { (void)!::send(server_.get(), text.data(), text.size(), MSG_NOSIGNAL); }
  void run() {
    say(kGreeting);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      char buffer[4096];
      if (::recv(server_.get(), buffer, sizeof buffer, 0) <= 0) return;
      std::string line = lines_[i];
      if (auto at = line.find("{id}"); at != std::string::npos) line.replace(at, 4, std::to_string(i + 1));
      say(line);
    }
    ::shutdown(server_.get(), SHUT_WR);
  }
  std::vector<std::string> lines_;
  UniqueFd client_, server_;
  std::thread thread_;
};

struct Talk {
  explicit Talk(std::vector<std::string> lines) : script(std::move(lines)), loop(*EventLoop::make()) {
    client = QmpClient::start(*loop, script.take(), soon());
  }
  static std::int64_t soon() { return monotonic_now_ns() + 60'000'000'000; }
  Result<json> ask(const std::string& command) { return (*client)->execute(command, json::object(), soon()); }
  Script script;
  std::unique_ptr<EventLoop> loop;
  Result<std::unique_ptr<QmpClient>> client = make_error(ErrorCode::unknown, "");
};

constexpr const char* kFine = R"({"return": {}, "id": {id}})" "\n";

TEST(QmpClient, EventsAndLateAnswersAreNoAnswers) {
  Talk talk({kFine, "{\"event\": \"STOP\"}\n{\"return\": {\"old\": 1}, \"id\": 1}\n{\"return\": {\"status\": \"paused\"}, \"id\": {id}}\n"});
  ASSERT_TRUE(talk.client.ok()) << talk.client.error().message;
  EXPECT_EQ((*talk.client)->version(), "7.2.1");
  auto answer = talk.ask("query-status");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ((*answer)["status"], "paused");
  EXPECT_GT((*talk.client)->event_count("STOP"), 0);
}

TEST(QmpClient, ARefusalHasQemusWords) {
  Talk talk({kFine, "{\"error\": {\"class\": \"GenericError\", \"desc\": \"no such node\"}, \"id\": {id}}\n"});
  auto answer = talk.ask("blockdev-snapshot");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::failed_precondition);
  EXPECT_NE(answer.error().message.find("blockdev-snapshot: no such node"), std::string::npos);
}

TEST(QmpClient, WhatATakenOverQemuMaySay) {
  for (const std::string& nonsense : {std::string("not json\n"), std::string("[1]\n"), std::string("{\"return\": {}, \"id\": 99}\n"),
                                      std::string("{\"return\": {}}\n"), std::string(kMaxQmpLineBytes + 1, 'x'), std::string("{\"error\": 7, \"id\": {id}}\n")}) {
    Talk talk({kFine, nonsense});
    ASSERT_TRUE(talk.client.ok());
    auto answer = talk.ask("stop");
    ASSERT_FALSE(answer.ok()) << nonsense.substr(0, 60);
    EXPECT_EQ(answer.error().cause, Cause::infrastructure) << nonsense.substr(0, 60);
  }
}

TEST(QmpClient, AnAnswerMayBeALongList) {
  const std::string list(3 << 20, 'x');
  Talk talk({kFine, "{\"return\": {\"list\": \"" + list + "\"}, \"id\": {id}}\n"});
  auto answer = talk.ask("query-named-block-nodes");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ((*answer)["list"], list);
}

TEST(QmpClient, AClosedConnectionIsTold) {
  Talk talk({kFine});
  auto answer = talk.ask("stop");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
  EXPECT_EQ(talk.ask("cont").error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace harena::vmm
