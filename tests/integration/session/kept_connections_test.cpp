// A kept connection that ended between the look at it and its use: what may be repeated is, on a new one; what may not be isn't.

#include "sdk/http/socket_stream.hpp"
#include "tests/integration/session/shim_fixture.hpp"

namespace harena::session {
namespace {

using http::ByteStream;

/// Ends at the next write once it is told to, as a peer that closed in this very moment.
class DyingStream : public ByteStream {
 public:
  DyingStream(std::unique_ptr<ByteStream> inner, std::shared_ptr<bool> dies) : inner_(std::move(inner)), dies_(std::move(dies)) {}
  Task<Result<std::size_t>> read(std::span<std::byte> into) override { return inner_->read(into); }
  Task<Status> write(std::span<const std::byte> bytes) override {
    if (!*dies_) co_return co_await inner_->write(bytes);
    inner_->close();
    co_return make_error(ErrorCode::unavailable, "broken pipe");
  }
  Task<Status> shutdown_write() override { return inner_->shutdown_write(); }
  void close() override { inner_->close(); }
  int poll_fd() const override { return inner_->poll_fd(); }

 private:
  std::unique_ptr<ByteStream> inner_;
  std::shared_ptr<bool> dies_;
};

class KeptConnections : public SessionTest {
 protected:
  /// Each connection gets the switch that `dies` was when it was made.
  SessionClient counted() {
    return SessionClient(Endpoint::over([this]() -> Task<Result<std::unique_ptr<ByteStream>>> {
      ++connects;
      HARENA_CO_TRY(auto stream, co_await http::connect_unix(shim.socket()));
      std::unique_ptr<ByteStream> dying = std::make_unique<DyingStream>(std::move(stream), dies);
      co_return dying;
    }));
  }
  /// The kept one ends; those that come are sound.
  void break_kept() { *std::exchange(dies, std::make_shared<bool>(false)) = true; }

  std::shared_ptr<bool> dies = std::make_shared<bool>(false);
  int connects = 0;
};

TEST_F(KeptConnections, AQuestionIsAskedAgain) {
  auto client = counted();
  ASSERT_TRUE(await(client.stats()));
  ASSERT_TRUE(await(client.stats()));
  EXPECT_EQ(connects, 1);
  break_kept();
  EXPECT_TRUE(await(client.stats()));
  EXPECT_EQ(connects, 2);
}

TEST_F(KeptConnections, WhatMayHaveHappenedIsNotRepeated) {
  auto client = counted();
  auto started = await(client.start(argv({"sleep", "30"})));
  ASSERT_TRUE(started);
  break_kept();
  auto lost = await(client.forget(started->command));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::unavailable);
  EXPECT_EQ(connects, 1);
  EXPECT_TRUE(await(client.forget(started->command)));
}

TEST_F(KeptConnections, ReadersAndListsAreAskedForAgain) {
  auto client = counted();
  auto started = await(client.start(shell("echo out; cat")));
  ASSERT_TRUE(started);
  auto asked_again = [&](const char* what, auto&& ask) {
    ASSERT_TRUE(await(client.stats()));
    const int before = connects;
    break_kept();
    EXPECT_TRUE(ask()) << what;
    EXPECT_EQ(connects, before + 1) << what;
  };
  FileListRequest folder;
  folder.path = "/proc/self";
  FileReadRequest file;
  file.path = "/etc/passwd";
  FileArchiveReadRequest archive;
  archive.path = "/etc/apt";
  AttachRequest attach;
  attach.command = started->command;
  asked_again("list", [&] { return await(client.list_files(folder)).ok(); });
  asked_again("read", [&] { return await(client.read_file(file)).ok(); });
  asked_again("archive", [&] { return await(client.read_archive(archive)).ok(); });
  asked_again("attach", [&] {
    auto output = await(client.attach(attach));
    if (!output) return false;
    auto event = await(output->next());
    return event.ok() && event->bytes == "out\n";
  });
  EXPECT_TRUE(await(client.forget(started->command)));
}

/// The connection ends behind the request instead of before it: the endpoint has it, and its answer is lost.
TEST_F(KeptConnections, AStartUnderAnOpIsAskedForAgainAndRunsOnce) {
  auto client = counted();
  ASSERT_TRUE(await(client.stats()));
  auto request = argv({"sleep", "30"});
  request.op = "once";
  break_kept();
  auto started = await(client.start(request));
  ASSERT_TRUE(started) << started.error().describe();
  EXPECT_EQ(connects, 2);
  break_kept();
  auto attached = await(client.start_attached(request));
  ASSERT_TRUE(attached);
  EXPECT_EQ(attached->started.command, started->command);
  EXPECT_TRUE(attached->started.existing);
  auto without = argv({"true"});
  ASSERT_TRUE(await(client.stats()));
  break_kept();
  EXPECT_FALSE(await(client.start(without)));
  auto commands = await(client.list());
  ASSERT_TRUE(commands);
  EXPECT_EQ(commands->size(), 1u);
  EXPECT_TRUE(await(client.forget(started->command)));
}

TEST_F(KeptConnections, ANewConnectionThatEndsIsTheTruth) {
  auto client = counted();
  *dies = true;
  auto lost = await(client.stats());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().cause_detail, "session");
  EXPECT_EQ(connects, 1);
}

}  // namespace
}  // namespace harena::session
