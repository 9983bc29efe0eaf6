// The session protocol into a real machine: what works with a shim on this host works through the tunnel.
#include "tests/guest/guest_fixture.hpp"

namespace harena::guest_test {
namespace {

TEST_F(GuestTest, SaysWhatItRuns) {
  EXPECT_FALSE(configured.kernel.empty());
  EXPECT_EQ(configured.build, HARENA_VERSION);
  EXPECT_GT(configured.configure_us, 0u);
}

TEST_F(GuestTest, RunsCommandsWithOutputAndStatus) {
  auto result = must_run(shell("echo out; echo err >&2; exit 7"));
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.exit.code, 7);
}

TEST_F(GuestTest, IsASandboxOfItsOwn) {
  EXPECT_EQ(out_of("hostname"), "tiny\n");
  EXPECT_EQ(out_of("cat /etc/machine-id"), "0123456789abcdef0123456789abcdef\n");
  EXPECT_EQ(out_of("id -u"), "0\n");
  EXPECT_EQ(out_of("cat /proc/1/comm"), "init\n");
  EXPECT_EQ(out_of("ip -o link 2>/dev/null | grep -c LOOPBACK,UP || ifconfig lo | grep -c UP"), "1\n");
  EXPECT_EQ(out_of("echo $(($(date +%s) / 100)) | head -c 5").substr(0, 5), std::to_string(std::time(nullptr) / 100).substr(0, 5));
}

TEST_F(GuestTest, BulkOutputArrivesWhole) {
  auto result = must_run(shell("head -c 8000000 /dev/zero | tr '\\0' x"));
  EXPECT_EQ(result.out.size(), 8'000'000u);
  EXPECT_EQ(result.out.find_first_not_of('x'), std::string::npos);
}

TEST_F(GuestTest, StdinIsFed) {
  auto request = shell("wc -c");
  request.stdin_mode = StdinMode::pipe;
  auto result = await([](SessionClient client, StartRequest request) -> Task<Result<std::string>> {
    HARENA_CO_TRY(auto attached, co_await client.start_attached(std::move(request)));
    const std::string block(100'000, 'i');
    for (int i = 0; i < 10; ++i) HARENA_CO_TRY_STATUS(co_await attached.output.write_stdin(block));
    HARENA_CO_TRY_STATUS(co_await attached.output.end_stdin());
    HARENA_CO_TRY(auto done, co_await collect(attached.output));
    co_return done.out;
  }(client, std::move(request)));
  ASSERT_TRUE(result.ok()) << result.error().describe();
  EXPECT_EQ(std::atoi(result->c_str()), 1'000'000);
}

TEST_F(GuestTest, FilesGoInAndOut) {
  std::string content(3'000'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 % 253);
  auto back = await([](SessionClient client, const std::string& content) -> Task<Result<std::string>> {
    FileWriteRequest write;
    write.path = "/work/file";
    HARENA_CO_TRY(auto writer, co_await client.write_file(write));
    HARENA_CO_TRY_STATUS(co_await writer.write(content));
    HARENA_CO_TRY(auto stat, co_await writer.finish());
    if (stat.size != content.size()) co_return make_error(ErrorCode::data_loss, "wrong size");
    FileReadRequest read;
    read.path = "/work/file";
    HARENA_CO_TRY(auto reader, co_await client.read_file(read));
    std::string all;
    for (;;) {
      HARENA_CO_TRY(auto part, co_await reader.next());
      if (part.empty()) co_return all;
      all += part;
    }
  }(client, content));
  ASSERT_TRUE(back.ok()) << back.error().describe();
  EXPECT_TRUE(*back == content);
  EXPECT_EQ(out_of("wc -c < /work/file"), "3000000\n");
}

TEST_F(GuestTest, PtysHaveASizeAndAreInteractive) {
  auto request = shell("stty size; read line; echo got $line");
  request.pty = true;
  request.stdin_mode = StdinMode::pipe;
  request.rows = 33;
  request.cols = 77;
  auto result = await([](SessionClient client, StartRequest request) -> Task<Result<std::string>> {
    HARENA_CO_TRY(auto attached, co_await client.start_attached(std::move(request)));
    HARENA_CO_TRY_STATUS(co_await attached.output.write_stdin("hello\n"));
    HARENA_CO_TRY(auto done, co_await collect(attached.output));
    co_return done.out;
  }(client, std::move(request)));
  ASSERT_TRUE(result.ok()) << result.error().describe();
  EXPECT_NE(result->find("33 77"), std::string::npos) << *result;
  EXPECT_NE(result->find("got hello"), std::string::npos) << *result;
}

TEST_F(GuestTest, PortsAreReachedByDataFrames) {
  ASSERT_EQ(must_run(shell("(echo from inside; cat) > /tmp/served & busybox nc -l -p 8080 -e cat >/dev/null 2>&1 &")).exit.code, 0);
  auto result = await([](SessionClient client) -> Task<Result<std::string>> {
    for (int i = 0;; ++i) {
      DialRequest request;
      request.port = 8080;
      auto stream = co_await client.dial(request);
      if (!stream.ok() && i < 50 && stream.error().cause_detail == "port_closed") continue;
      if (!stream.ok()) co_return std::move(stream).error();
      const std::string much(300'000, 'd');
      HARENA_CO_TRY_STATUS(co_await (*stream)->write("ping-"));
      std::string got;
      std::array<std::byte, 4096> buffer;
      while (got.size() < 5) {
        HARENA_CO_TRY(auto count, co_await (*stream)->read(buffer));
        if (count == 0) break;
        got.append(reinterpret_cast<const char*>(buffer.data()), count);
      }
      HARENA_CO_TRY_STATUS(co_await (*stream)->write(much.substr(0, 60'000)));
      HARENA_CO_TRY_STATUS(co_await (*stream)->shutdown_write());
      for (;;) {
        HARENA_CO_TRY(auto count, co_await (*stream)->read(buffer));
        if (count == 0) co_return got;
        got.append(reinterpret_cast<const char*>(buffer.data()), count);
      }
    }
  }(client));
  ASSERT_TRUE(result.ok()) << result.error().describe();
  EXPECT_EQ(result->substr(0, 5), "ping-");
  EXPECT_EQ(result->size(), 60'005u);
}

TEST_F(GuestTest, AClosedPortSaysSo) {
  DialRequest request;
  request.port = 9;
  auto stream = await(client.dial(request));
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.error().code, ErrorCode::unavailable);
  EXPECT_EQ(stream.error().cause_detail, "port_closed");
}

TEST_F(GuestTest, ManyCommandsAtOnce) {
  std::vector<Result<RunResult>> results;
  int open = 40;
  for (int i = 0; i < 40; ++i) {
    auto out = std::make_shared<std::optional<Result<RunResult>>>();
    boost::asio::co_spawn(io, http::detail::store_result(run(client, shell("echo " + std::to_string(i) + "; head -c 50000 /dev/zero")), *out),
                          [&, out](std::exception_ptr) {
                            results.push_back(std::move(**out));
                            --open;
                          });
  }
  io.restart();
  while (open > 0) io.run_one();
  for (auto& result : results) {
    ASSERT_TRUE(result.ok()) << result.error().describe();
    EXPECT_EQ(result->exit.code, 0);
    EXPECT_GT(result->out.size(), 50'000u);
  }
}

TEST_F(GuestTest, CommandsAndConnectionsLiveOnWhenTheChannelIsReplaced) {
  auto result = await([](SessionClient client, Machine& machine) -> Task<Result<std::string>> {
    HARENA_CO_TRY(auto attached, co_await client.start_attached(shell("for i in $(seq 1 60); do echo line $i; usleep 20000; done")));
    std::string all;
    for (int events = 0;; ++events) {
      HARENA_CO_TRY(auto event, co_await attached.output.next());
      if (event.kind == OutputEvent::Kind::end) co_return all;
      if (event.offset != all.size() && event.kind == OutputEvent::Kind::output) co_return make_error(ErrorCode::data_loss, "a gap");
      all += event.bytes;
      if (events % 10 == 3) machine.reconnect(LinkStart::go_on);
    }
  }(client, *machine));
  ASSERT_TRUE(result.ok()) << result.error().describe();
  EXPECT_NE(result->find("line 1\n"), std::string::npos);
  EXPECT_NE(result->find("line 60\n"), std::string::npos);
}

TEST_F(GuestTest, ANewEpochKeepsCommandsAndTheirOutput) {
  auto result = await([](SessionClient client, Machine& machine) -> Task<Result<std::string>> {
    HARENA_CO_TRY(auto attached, co_await client.start_attached(shell("echo before; sleep 1; echo after")));
    HARENA_CO_TRY(auto first, co_await attached.output.next());
    machine.reconnect(LinkStart::new_epoch);
    auto lost = co_await attached.output.next();
    if (lost.ok()) co_return make_error(ErrorCode::internal, "a connection of the old epoch lives on");
    AttachRequest again;
    again.command = attached.started.command;
    again.stdout_offset = first.bytes.size();
    HARENA_CO_TRY(auto output, co_await client.attach(again));
    HARENA_CO_TRY(auto rest, co_await collect(output, again.stdout_offset));
    co_return first.bytes + rest.out;
  }(client, *machine));
  ASSERT_TRUE(result.ok()) << result.error().describe();
  EXPECT_EQ(*result, "before\nafter\n");
}

}  // namespace
}  // namespace harena::guest_test
