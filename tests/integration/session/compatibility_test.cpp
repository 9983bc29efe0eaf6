// Sandboxes outlive upgrades: today's client must be able to use an endpoint of the first release, and today's endpoint to serve a
// client of the first release. Both are played from frozen bytes (golden.hpp).

#include <cstdlib>

#include "tests/integration/session/frozen_endpoint.hpp"
#include "tests/integration/session/shim_fixture.hpp"

namespace harena::session {
namespace {

namespace g = golden;

TEST(GoldenBytes, TheSpellingItselfIsFrozen) {
  auto hex = [](const std::string& bytes) {
    std::string out;
    char digits[3];
    for (unsigned char c : bytes) out += (std::snprintf(digits, sizeof digits, "%02x", c), digits);
    return out;
  };
  EXPECT_EQ(hex(g::frame(0x40, g::text(1, "true"))), "0a000000400000000000000001000400000074727565");
  EXPECT_EQ(hex(g::output(0x15, 258, "x")), "0900000015000000000000000201000000000000" "78");
  EXPECT_EQ(hex(g::number(12, 300)), "0c00020000002c01");
  EXPECT_EQ(hex(g::number(1, -1)), "010001000000ff");
  EXPECT_EQ(hex(g::pair(3, "A", "b")), "03000600000001000000" "4162");
}

/// Today's client against the frozen endpoint.
class OldEndpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/harena-old-XXXXXX";
    folder = ::mkdtemp(pattern);
  }
  void TearDown() override {
    endpoint.reset();
    EXPECT_EQ(frozen ? frozen->finish() : "", "");
    frozen.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  SessionClient play(std::vector<g::Exchange> script) {
    frozen.emplace(folder + "/s", std::move(script));
    endpoint = Endpoint::over_unix(folder + "/s");
    return SessionClient(endpoint);
  }
  /// As the fixture's: the coroutine's connections are closed when it returns.
  template <class T>
  T await(Task<T> task) {
    std::optional<T> out;
    io.restart();
    boost::asio::co_spawn(io, http::detail::store_result(std::move(task), out), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    while (!out) io.run_one();
    return std::move(*out);
  }

  std::string folder;
  boost::asio::io_context io{1};
  std::optional<g::FrozenEndpoint> frozen;
  std::shared_ptr<Endpoint> endpoint;
};

std::string exit_seven(const std::string& more = {}) {
  return g::frame(0x17, g::number(1, 7) + g::number(5, 1000) + g::number(6, 2000) + g::number(7, 3) + g::number(9, 3) + more);
}

TEST_F(OldEndpoint, StartAttachedWithEveryOption) {
  StartRequest request = argv({"printf", "a\n"});
  request.env = {{"K", "v"}};
  request.replace_env = true;
  request.cwd = "/tmp";
  request.user = "1000:100";
  request.groups = {"5"};
  request.stdin_mode = StdinMode::pipe;
  request.pty = true;
  request.rows = 50;
  request.cols = 132;
  request.timeout_ms = 2000;
  request.no_output_timeout_ms = 1000;
  request.output_limit_bytes = 100;
  request.on_output_limit = OnOutputLimit::kill;
  request.op = "op-1";
  request.on_disconnect = OnDisconnect::kill;
  std::string start = g::text(1, "printf") + g::text(1, "a\n") + g::pair(3, "K", "v") + g::number(4, 1) + g::text(5, "/tmp") +
                      g::text(6, "1000:100") + g::text(7, "5") + g::number(8, 1) + g::number(9, 1) + g::number(10, 50) +
                      g::number(11, 132) + g::number(12, 2000) + g::number(13, 1000) + g::number(14, 100) + g::number(15, 1) +
                      g::text(16, "op-1") + g::number(17, 1) + g::number(18, 1);
  auto client = play({{{g::frame(0x40, start)},
                       g::frame(0x13, g::text(1, "c1") + g::number(2, 42)) + g::output(0x14, 0, "ab") + g::output(0x15, 0, "e") +
                           g::output(0x14, 2, "c") + g::frame(0x16, g::number(2, 3) + g::text(3, "stream")) + exit_seven() + g::ok()}});
  auto result = await(run(client, request));
  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_EQ(result->command, "c1");
  EXPECT_EQ(result->out, "abc");
  EXPECT_EQ(result->err, "e");
  EXPECT_TRUE(result->out_truncated);
  EXPECT_EQ(result->exit.code, 7);
  EXPECT_EQ(result->exit.cause, ExitCause::exit);
  EXPECT_EQ(result->exit.exited_ms, 2000);
}

TEST_F(OldEndpoint, CommandsOnOneKeptConnection) {
  std::string info = g::text(1, "c1") + g::text(3, "sleep") + g::number(5, 1) + g::number(6, 9) + g::number(7, 1000);
  auto id = g::text(1, "c1");
  auto client = play({{{g::frame(0x40, g::text(2, "sleep 9"))}, g::frame(0x13, id + g::number(2, 9)) + g::ok()},
                      {{g::frame(0x46, id)}, g::ok(info)},
                      {{g::frame(0x45)}, g::ok(g::text(1, info))},
                      {{g::frame(0x44, id + g::number(2, 15) + g::number(3, 2))}, g::ok()},
                      {{g::frame(0x43, id + g::number(2, 30) + g::number(3, 90))}, g::ok()},
                      {{g::frame(0x47, id + g::number(2, 5000))}, g::ok(info + g::text(15, g::number(2, 15) + g::number(3, 1)))},
                      {{g::frame(0x41, id + g::number(2, 1) + g::number(4, 0))}, g::ok()},
                      {{g::frame(0x48, id)}, g::ok()},
                      {{g::frame(0x46, id)}, g::frame(0x04, g::number(1, 5) + g::text(2, "no such command 'c1'"))},
                      {{g::frame(0x82)}, g::ok(g::number(6, 12))},
                      {{g::frame(0x81, g::number(1, 500))}, g::ok()}});
  auto task = [&]() -> Task<Result<CommandInfo>> {
    HARENA_CO_TRY(auto started, co_await client.start(shell("sleep 9")));
    HARENA_CO_TRY(auto known, co_await client.info(started.command));
    HARENA_CO_TRY(auto all, co_await client.list());
    if (all.size() != 1 || !(all[0] == known)) co_return make_error(ErrorCode::data_loss, "list");
    HARENA_CO_TRY_STATUS(co_await client.signal("c1", 15, SignalTarget::tree));
    HARENA_CO_TRY_STATUS(co_await client.resize("c1", 30, 90));
    HARENA_CO_TRY(auto ended, co_await client.wait("c1", 5000));
    AttachRequest attach;
    attach.command = "c1";
    attach.stdout_offset = 1;
    attach.follow = false;
    HARENA_CO_TRY(auto reader, co_await client.attach(attach));
    HARENA_CO_TRY(auto nothing, co_await collect(reader, 1));
    HARENA_CO_TRY_STATUS(co_await client.forget("c1"));
    auto gone = co_await client.info("c1");
    if (gone || gone.error().code != ErrorCode::not_found) co_return make_error(ErrorCode::data_loss, "forgotten");
    HARENA_CO_TRY(auto stats, co_await client.stats());
    if (stats.descriptors != 12) co_return make_error(ErrorCode::data_loss, "stats");
    HARENA_CO_TRY_STATUS(co_await client.shutdown(500));
    co_return ended;
  };
  auto ended = await(task());
  ASSERT_TRUE(ended) << ended.error().describe();
  ASSERT_TRUE(ended->exit);
  EXPECT_EQ(ended->exit->signal, 15);
  EXPECT_EQ(ended->exit->cause, ExitCause::signal);
}

TEST_F(OldEndpoint, StdinAndFiles) {
  auto stat = g::text(1, "/f") + g::number(2, 1) + g::number(3, 0644) + g::number(6, 3);
  auto client = play({{{g::frame(0x42, g::text(1, "c1") + g::number(2, 5))}, g::frame(0x12)},
                      {{g::frame(0x10, "abc"), g::frame(0x11)}, g::output(0x18, 8, "") + g::ok()},
                      {{g::frame(0x60, g::text(1, "/f") + g::text(2, "me") + g::number(3, 1) + g::number(4, 2))},
                       g::frame(0x1a, stat) + g::frame(0x10, "bc") + g::ok()},
                      {{g::frame(0x61, g::text(1, "/f") + g::number(3, 0600) + g::number(4, 1) + g::number(5, 1))}, g::frame(0x12)},
                      {{g::frame(0x10, "xyz"), g::frame(0x11)}, g::ok(stat)},
                      {{g::frame(0x62, g::text(1, "/") + g::number(3, 1) + g::number(5, 10))},
                       g::frame(0x19, g::text(1, stat) + g::text(1, stat)) + g::ok(g::text(1, "/f"))},
                      {{g::frame(0x63, g::text(1, "/f") + g::number(3, 1))}, g::ok(stat)}});
  auto task = [&]() -> Task<Result<std::string>> {
    StdinRequest in;
    in.command = "c1";
    in.offset = 5;
    HARENA_CO_TRY(auto stdin_stream, co_await client.open_stdin(in));
    HARENA_CO_TRY_STATUS(co_await stdin_stream.write("abc"));
    HARENA_CO_TRY_STATUS(co_await stdin_stream.end());
    FileReadRequest read;
    read.path = "/f", read.user = "me", read.offset = 1, read.length = 2;
    HARENA_CO_TRY(auto reader, co_await client.read_file(read));
    HARENA_CO_TRY(auto bytes, co_await reader.next());
    HARENA_CO_TRY(auto end, co_await reader.next());
    FileWriteRequest write;
    write.path = "/f", write.mode = 0600, write.parents = true, write.exclusive = true;
    HARENA_CO_TRY(auto writer, co_await client.write_file(write));
    HARENA_CO_TRY_STATUS(co_await writer.write("xyz"));
    HARENA_CO_TRY(auto written, co_await writer.finish());
    FileListRequest list;
    list.path = "/", list.recursive = true, list.limit = 10;
    HARENA_CO_TRY(auto listing, co_await client.list_files(list));
    FilePathRequest path;
    path.path = "/f", path.follow = true;
    HARENA_CO_TRY(auto found, co_await client.stat(path));
    bool same = listing.entries.size() == 2 && listing.cursor == "/f" && found == written && written.size == 3;
    co_return same ? bytes : "differs";
  };
  auto bytes = await(task());
  ASSERT_TRUE(bytes) << bytes.error().describe();
  EXPECT_EQ(*bytes, "bc");
}

TEST_F(OldEndpoint, AFeatureThatItLacksIsNamedAndTheConnectionServesOn) {
  auto client = play({{{g::frame(0x82)}, g::ok(g::number(6, 3))}});
  auto task = [&]() -> Task<Result<std::string>> {
    HARENA_CO_TRY(auto channel, co_await endpoint->acquire());
    auto lacking = co_await channel->require("feature-of-next-year");
    HARENA_CO_TRY_STATUS(co_await channel->require("dial-fd"));
    co_await endpoint->release(std::move(channel));
    HARENA_CO_TRY_STATUS(co_await client.stats());
    if (lacking || lacking.error().code != ErrorCode::unimplemented) co_return "not refused";
    co_return lacking.error().message;
  };
  auto message = await(task());
  ASSERT_TRUE(message) << message.error().describe();
  EXPECT_NE(message->find("feature-of-next-year"), std::string::npos) << *message;
  EXPECT_NE(message->find("0.1.0"), std::string::npos) << *message;
}

TEST_F(OldEndpoint, WhatFilesHaveGotSinceIsRefusedBeforeItIsSent) {
  auto client = play({{{g::frame(0x82)}, g::ok(g::number(6, 3))}});
  auto task = [&]() -> Task<Result<std::vector<ErrorCode>>> {
    FileReadRequest read;
    read.path = "/f", read.ask = true;
    auto asked = co_await client.read_file(read);
    FileWriteRequest write;
    write.path = "/f", write.offset = 0;
    auto placed = co_await client.write_file(write);
    FileWatchRequest watch;
    watch.path = "/";
    auto watched = co_await client.watch(watch);
    FileArchiveReadRequest archive;
    archive.path = "/";
    auto archived = co_await client.read_archive(archive);
    FileXattrListRequest xattrs;
    xattrs.path = "/f";
    auto listed = co_await client.xattrs(xattrs);
    HARENA_CO_TRY_STATUS(co_await client.stats());
    std::vector<ErrorCode> codes = {asked.error().code, placed.error().code, watched.error().code, archived.error().code, listed.error().code};
    co_return codes;
  };
  auto codes = await(task());
  ASSERT_TRUE(codes) << codes.error().describe();
  EXPECT_EQ(*codes, std::vector<ErrorCode>(5, ErrorCode::unimplemented));
}

TEST(Features, TypesOfTheFirstReleaseNeedNone) {
  for (unsigned type = 0x40; type <= 0x48; ++type) EXPECT_EQ(required_feature(static_cast<FrameType>(type)), "");
  for (unsigned type = 0x60; type <= 0x6b; ++type) EXPECT_EQ(required_feature(static_cast<FrameType>(type)), "");
  for (unsigned type = 0x80; type <= 0x82; ++type) EXPECT_EQ(required_feature(static_cast<FrameType>(type)), "");
}

/// The frozen client: raw bytes to today's shim.
class OldClient : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(shim.started());
    socket_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, shim.socket().c_str());
    ASSERT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    say(g::frame(0x01, g::text(0x8003, "0.1.0")));
    auto hello = hear();
    ASSERT_EQ(hello.type, 0x02u);
    EXPECT_EQ(value(hello, 1), std::string(1, 1));
    EXPECT_EQ(value(hello, 5), "test");
  }
  void say(const std::string& bytes) { ASSERT_EQ(::write(socket_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size())); }
  /// The next frame; one of a type that the first release didn't know must carry flag 1, and this client doesn't look: it fails.
  g::Frame hear() {
    g::Frame frame;
    char buffer[65536];
    while (!g::take_frame(in_, frame)) {
      auto got = ::read(socket_.get(), buffer, sizeof buffer);
      if (got <= 0) return {};
      in_.append(buffer, static_cast<std::size_t>(got));
    }
    return frame;
  }
  static std::string value(const g::Frame& frame, unsigned key) {
    for (const auto& [k, v] : g::attributes(frame.payload)) {
      if (k == key) return v;
    }
    return {};
  }

  ShimProcess shim;
  UniqueFd socket_;
  std::string in_;
};

TEST_F(OldClient, StartsReadsAndForgets) {
  say(g::frame(0x40, g::text(1, "sh") + g::text(1, "-c") + g::text(1, "cat; echo e >&2; exit 3") + g::number(8, 1) + g::number(18, 1)));
  auto started = hear();
  ASSERT_EQ(started.type, 0x13u);
  auto id = value(started, 1);
  EXPECT_EQ(id, "c1");
  say(g::frame(0x10, "in\n") + g::frame(0x11));
  std::string seen;
  g::Frame frame, exit;
  while ((frame = hear()).type != 0x03) {
    ASSERT_TRUE(frame.type == 0x18 || frame.type == 0x14 || frame.type == 0x15 || frame.type == 0x17) << frame.type;
    if (frame.type == 0x14 || frame.type == 0x15) seen += (frame.type == 0x14 ? "o" : "e") + frame.payload.substr(8);
    if (frame.type == 0x17) exit = frame;
    if (frame.type != 0x18) continue;
    EXPECT_EQ(frame.payload, g::little(3, 8));
  }
  EXPECT_EQ(seen, "oin\nee\n");
  EXPECT_EQ(value(exit, 1), std::string(1, 3));
  EXPECT_EQ(value(exit, 3), "");  // cause exit is the default
  EXPECT_EQ(value(exit, 7), std::string(1, 3));
  say(g::frame(0x41, g::text(1, id) + g::number(2, 1)));
  auto rest = hear();
  EXPECT_EQ(rest.type, 0x14u);
  EXPECT_EQ(rest.payload, g::little(1, 8) + "n\n");
  while (hear().type != 0x03) {
  }
  say(g::frame(0x48, g::text(1, id)));
  EXPECT_EQ(hear().type, 0x03u);
  say(g::frame(0x46, g::text(1, id)));
  auto gone = hear();
  EXPECT_EQ(gone.type, 0x04u);
  EXPECT_EQ(value(gone, 1), std::string(1, 5));
}

TEST_F(OldClient, WritesAndReadsAFile) {
  auto path = shim.folder() + "/f";
  say(g::frame(0x61, g::text(1, path)));
  ASSERT_EQ(hear().type, 0x12u);
  say(g::frame(0x10, "abc") + g::frame(0x11));
  auto written = hear();
  ASSERT_EQ(written.type, 0x03u);
  EXPECT_EQ(value(written, 6), std::string(1, 3));
  say(g::frame(0x60, g::text(1, path) + g::number(3, 1)));
  EXPECT_EQ(hear().type, 0x1au);
  auto data = hear();
  EXPECT_EQ(data.type, 0x10u);
  EXPECT_EQ(data.payload, "bc");
  EXPECT_EQ(hear().type, 0x03u);
  say(g::frame(0x62, g::text(1, shim.folder())));
  EXPECT_EQ(hear().type, 0x19u);
  EXPECT_EQ(hear().type, 0x03u);
}

TEST_F(OldClient, IsRefusedWhatNobodyKnows) {
  say(g::frame(0x40, g::text(1, "true") + g::number(0x7ffe, 1)));
  auto refused = hear();
  EXPECT_EQ(refused.type, 0x04u);
  EXPECT_EQ(value(refused, 1), std::string(1, 12));
  EXPECT_NE(value(refused, 2).find("32766"), std::string::npos);
  say(g::frame(0x40, g::text(1, "true") + g::number(0xfffe, 1)));
  EXPECT_EQ(hear().type, 0x13u);
  EXPECT_EQ(hear().type, 0x03u);
}

}  // namespace
}  // namespace harena::session
