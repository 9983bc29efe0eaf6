#include <fcntl.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "sdk/http/socket_stream.hpp"
#include "tests/integration/session/shim_fixture.hpp"

namespace harena::session {
namespace {

class Commands : public SessionTest {};

TEST_F(Commands, LastLineWithoutNewlineAndBlankLines) {
  auto result = must_run(argv({"printf", "a\n\n\nb"}));
  EXPECT_EQ(result.out, "a\n\n\nb");
  EXPECT_EQ(result.exit.code, 0);
  EXPECT_EQ(result.exit.cause, ExitCause::exit);
  EXPECT_EQ(result.exit.stdout_bytes, 5u);
}

TEST_F(Commands, ExitComesLastUnderLoad) {
  constexpr int kParallel = 64;
  int good = 0, done = 0;
  for (int i = 0; i < kParallel; ++i) {
    spawn<Result<RunResult>>(run(client, shell("seq 1 20000; sleep 0.05; echo END")), [&](Result<RunResult> result) {
                            ++done;
                            if (result && result->out.ends_with("20000\nEND\n") && result->after_exit == 0 && result->exit.code == 0) ++good;
                          });
  }
  io.restart();
  while (done < kParallel) io.run_one();
  EXPECT_EQ(good, kParallel);
}

TEST_F(Commands, ThousandExitSevenAndDescriptorsFlat) {
  ASSERT_EQ(must_run(argv({"true"})).exit.code, 0);
  auto before = await(client.stats());
  ASSERT_TRUE(before);
  int sevens = 0, done = 0, started = 0;
  std::function<void()> next = [&] {
    if (started == 1000) return;
    ++started;
    spawn<Result<RunResult>>(run(client, shell("exit 7")), [&](Result<RunResult> result) {
      ++done;
      if (result && result->exit.code == 7) ++sevens;
      next();
    });
  };
  for (int i = 0; i < 50; ++i) next();
  io.restart();
  while (done < 1000) io.run_one();
  EXPECT_EQ(sevens, 1000);
  auto after = await(client.stats());
  ASSERT_TRUE(after);
  // Connections that this test closed may not all be noticed yet; nothing of a thousand commands may stay.
  EXPECT_EQ(after->descriptors - after->connections, before->descriptors - before->connections);
  EXPECT_EQ(after->commands_running, 0u);
}

TEST_F(Commands, FailedSpawnsAreTypedAndLeaveNothing) {
  auto before = await(client.stats());
  auto missing = await(run(client, argv({"no-such-program-here"})));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().cause_detail, "no_such_program");
  auto folder = argv({"true"});
  folder.cwd = "/no/such/folder";
  EXPECT_EQ(await(run(client, folder)).error().cause_detail, "no_such_cwd");
  auto user = argv({"true"});
  user.user = "nobody-of-that-name";
  EXPECT_EQ(await(run(client, user)).error().cause_detail, "no_such_user");
  EXPECT_EQ(await(run(client, argv({"/etc/passwd"}))).error().cause_detail, "not_executable");
  EXPECT_EQ(await(run(client, argv({}))).error().code, ErrorCode::invalid_argument);
  for (int i = 0; i < 300; ++i) ASSERT_FALSE(await(run(client, argv({"no-such-program-here"}))));
  auto after = await(client.stats());
  // The last ones may not be reaped yet: one pidfd each.
  EXPECT_LE(after->descriptors, before->descriptors + 4);
  EXPECT_EQ(after->commands_kept, 0u);
}

TEST_F(Commands, EnvironmentIsByteExact) {
  std::vector<std::string> values = {"'\"\\", "-n", "a\nb", "$HOME", "\xe2\x98\x83", "\xff\x01", " "};
  for (const auto& value : values) {
    auto request = argv({"printenv", "X"});
    request.env = {{"X", value}};
    EXPECT_EQ(must_run(request).out, value + "\n");
  }
  auto only = argv({"/usr/bin/env"});
  only.replace_env = true;
  only.env = {{"ONLY", "1"}};
  EXPECT_EQ(must_run(only).out, "ONLY=1\n");
}

TEST_F(Commands, ShellTextOfTwoMegabytes) {
  std::string text = "# " + std::string(2 << 20, 'x') + "\necho done; exit 3";
  auto result = must_run(shell(text));
  EXPECT_EQ(result.out, "done\n");
  EXPECT_EQ(result.exit.code, 3);
}

TEST_F(Commands, CatWithoutStdinEndsAlsoWithPty) {
  EXPECT_EQ(must_run(argv({"cat"})).exit.code, 0);
  auto request = argv({"cat"});
  request.pty = true;
  EXPECT_EQ(must_run(request).exit.code, 0);
}

TEST_F(Commands, PtyHasTheSizeAndIsResized) {
  auto request = shell("stty size; read line; stty size");
  request.pty = true;
  request.stdin_mode = StdinMode::pipe;
  request.rows = 33;
  request.cols = 99;
  auto task = [&]() -> Task<Result<RunResult>> {
    HARENA_CO_TRY(auto attached, co_await client.start_attached(request));
    HARENA_CO_TRY(auto first, co_await attached.output.next());
    HARENA_CO_TRY_STATUS(co_await client.resize(attached.started.command, 50, 120));
    HARENA_CO_TRY_STATUS(co_await attached.output.write_stdin("x\n"));
    HARENA_CO_TRY(auto rest, co_await collect(attached.output, first.bytes.size()));
    rest.out = first.bytes + rest.out;
    co_return rest;
  };
  auto result = await(task());
  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_NE(result->out.find("33 99"), std::string::npos);
  EXPECT_NE(result->out.find("50 120"), std::string::npos);
}

TEST_F(Commands, StdinOfTenMegabytesIntoASlowReader) {
  auto request = shell("sleep 0.2; cksum");
  request.stdin_mode = StdinMode::pipe;
  std::string data(10 << 20, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 31 + (i >> 9));
  std::ofstream(shim.folder() + "/copy", std::ios::binary) << data;
  auto task = [&]() -> Task<Result<RunResult>> {
    HARENA_CO_TRY(auto started, co_await client.start(request));
    StdinRequest in;
    in.command = started.command;
    {
      // Broken off in the middle ...
      HARENA_CO_TRY(auto stream, co_await client.open_stdin(in));
      HARENA_CO_TRY_STATUS(co_await stream.write(std::string_view(data).substr(0, 3'000'000)));
      in.offset = stream.acked();
    }
    // ... and repeated from the last acknowledged byte.
    HARENA_CO_TRY(auto stream, co_await client.open_stdin(in));
    HARENA_CO_TRY_STATUS(co_await stream.write(std::string_view(data).substr(*in.offset)));
    HARENA_CO_TRY_STATUS(co_await stream.end());
    AttachRequest attach;
    attach.command = started.command;
    HARENA_CO_TRY(auto reader, co_await client.attach(attach));
    co_return co_await collect(reader);
  };
  auto result = await(task());
  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_EQ(result->out, must_run(shell("cksum < " + shim.folder() + "/copy")).out);
}

TEST_F(Commands, TimeoutEndsEverythingThatHid) {
  std::string tag = "31" + std::to_string(::getpid());
  auto request = shell("trap '' TERM; (setsid sleep " + tag + " &) ; setsid sh -c '(env -i sleep " + tag + " &) ; sleep " + tag + "' & sleep " + tag);
  request.timeout_ms = 300;
  auto result = must_run(request);
  EXPECT_EQ(result.exit.cause, ExitCause::timeout);
  EXPECT_LT(result.exit.exited_ms - result.exit.started_ms, 3000);
  auto left = must_run(shell("for i in 1 2 3 4 5 6 7 8 9 10; do pgrep -fx 'sleep " + tag + "' || break; sleep 0.1; done | tail -1"));
  EXPECT_EQ(left.out, "");
}

TEST_F(Commands, NoOutputTimeoutAndPartialOutput) {
  auto request = shell("echo partial; sleep 30");
  request.no_output_timeout_ms = 200;
  auto result = must_run(request);
  EXPECT_EQ(result.exit.cause, ExitCause::no_output_timeout);
  EXPECT_EQ(result.out, "partial\n");
}

TEST_F(Commands, WantedBackgroundProcessStays) {
  auto result = must_run(shell("sleep 0.6 & echo $!"));
  EXPECT_TRUE(result.exit.background);
  EXPECT_EQ(must_run(shell("kill -0 " + result.out.substr(0, result.out.size() - 1))).exit.code, 0);
}

TEST_F(Commands, OutputLimitMarksAndGoesOnOrKills) {
  auto request = shell("head -c 300000 /dev/zero; exit 4");
  request.output_limit_bytes = 100'000;
  auto result = must_run(request);
  EXPECT_EQ(result.out.size(), 100'000u);
  EXPECT_TRUE(result.out_truncated);
  EXPECT_EQ(result.exit.stdout_bytes, 300'000u);
  EXPECT_EQ(result.exit.code, 4);
  auto killed = shell("yes");
  killed.output_limit_bytes = 1000;
  killed.on_output_limit = OnOutputLimit::kill;
  EXPECT_EQ(must_run(killed).exit.cause, ExitCause::output_limit);
}

TEST_F(Commands, ThreeReadersFromOffsetsAndOneLeaves) {
  auto task = [&]() -> Task<Result<std::string>> {
    HARENA_CO_TRY(auto started, co_await client.start(shell("seq 1 50000; sleep 0.1; seq 1 50000")));
    AttachRequest attach;
    attach.command = started.command;
    HARENA_CO_TRY(auto leaver, co_await client.attach(attach));
    HARENA_CO_TRY_STATUS(co_await leaver.next());
    { auto gone = std::move(leaver); }
    HARENA_CO_TRY(auto whole_reader, co_await client.attach(attach));
    HARENA_CO_TRY(auto whole, co_await collect(whole_reader));
    attach.stdout_offset = 1234;
    HARENA_CO_TRY(auto part_reader, co_await client.attach(attach));
    HARENA_CO_TRY(auto part, co_await collect(part_reader, 1234));
    co_return whole.out.substr(1234) == part.out ? whole.out : "differs";
  };
  auto out = await(task());
  ASSERT_TRUE(out) << out.error().describe();
  EXPECT_EQ(out->size(), 2 * 288'894u);
}

TEST_F(Commands, OpIdStartsOnce) {
  auto request = shell("echo x >> " + shim.folder() + "/ran; sleep 0.1");
  request.op = "op-1";
  auto first = must_run(request);
  auto second = must_run(request);
  EXPECT_EQ(first.command, second.command);
  EXPECT_EQ(must_run(shell("cat " + shim.folder() + "/ran")).out, "x\n");
  request.shell = "echo other";
  EXPECT_EQ(await(run(client, request)).error().code, ErrorCode::already_exists);
  ASSERT_TRUE(await(client.forget(first.command)));
  EXPECT_EQ(await(run(client, request)).error().code, ErrorCode::failed_precondition);
}

TEST_F(Commands, DisconnectKillsOnlyIfAsked) {
  auto task = [&](OnDisconnect what) -> Task<Result<CommandInfo>> {
    auto request = shell("sleep 0.4");
    request.on_disconnect = what;
    HARENA_CO_TRY(auto attached, co_await client.start_attached(request));
    auto id = attached.started.command;
    { auto gone = std::move(attached); }
    co_return co_await client.wait(id, 5000);
  };
  EXPECT_EQ(await(task(OnDisconnect::keep))->exit->code, 0);
  EXPECT_EQ(await(task(OnDisconnect::kill))->exit->cause, ExitCause::killed);
}

TEST_F(Commands, SignalReachesProcessAndTree) {
  auto task = [&](SignalTarget target) -> Task<Result<CommandInfo>> {
    HARENA_CO_TRY(auto started, co_await client.start(shell("exec sleep 30")));
    HARENA_CO_TRY_STATUS(co_await client.signal(started.command, SIGTERM, target));
    co_return co_await client.wait(started.command, 5000);
  };
  for (auto target : {SignalTarget::process, SignalTarget::group, SignalTarget::tree}) {
    auto info = await(task(target));
    ASSERT_TRUE(info && info->exit) << static_cast<int>(target);
    EXPECT_EQ(info->exit->signal, SIGTERM);
  }
}

TEST_F(Commands, SignalsAreAtTheirDefaultsAndNoneIsBlocked) {
  auto masks = must_run(shell("exec grep -E '^Sig(Blk|Ign)' /proc/self/status"));
  EXPECT_EQ(masks.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  // A writer whose reader has left dies of it, as everywhere.
  EXPECT_EQ(must_run(shell("(yes; echo $? >&2) | head -n 1")).err, "141\n");
}

TEST_F(Commands, OutOfDescriptorsIsThePlatforms) {
  ASSERT_EQ(must_run(argv({"true"})).exit.code, 0);
  auto open = await(client.stats())->descriptors;
  rlimit kept{};
  ASSERT_EQ(::prlimit(shim.pid(), RLIMIT_NOFILE, nullptr, &kept), 0);
  int refused = 0, good = 0;
  for (std::uint32_t more = 0; more < 12; ++more) {
    rlimit narrow{open + more, kept.rlim_max};
    ASSERT_EQ(::prlimit(shim.pid(), RLIMIT_NOFILE, &narrow, nullptr), 0);
    auto request = argv({"sleep", "0.05"});
    request.pty = true;
    auto result = await(run(client, request));
    if (!result) {
      ++refused;
      EXPECT_EQ(result.error().cause, Cause::infrastructure) << result.error().describe();
    } else {
      ++good;
      EXPECT_EQ(result->exit.code, 0);
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(good, 0);
  ASSERT_EQ(::prlimit(shim.pid(), RLIMIT_NOFILE, &kept, nullptr), 0);
  EXPECT_EQ(must_run(argv({"true"})).exit.code, 0);
}

TEST_F(Commands, ADeadSpawnerIsReplaced) {
  ASSERT_EQ(must_run(argv({"true"})).exit.code, 0);
  std::ifstream children("/proc/" + std::to_string(shim.pid()) + "/task/" + std::to_string(shim.pid()) + "/children");
  pid_t spawner = -1;
  ASSERT_TRUE(children >> spawner);
  ASSERT_EQ(::kill(spawner, SIGKILL), 0);
  // What it was just asked for fails, as the machine's fault; then there is another.
  int failed = 0;
  for (int i = 0; i < 200; ++i) {
    auto result = await(run(client, argv({"true"})));
    if (result) continue;
    ++failed;
    EXPECT_EQ(result.error().code, ErrorCode::unavailable);
  }
  EXPECT_LT(failed, 100);
  EXPECT_EQ(must_run(argv({"true"})).exit.code, 0);
}

TEST_F(Commands, MalformedFramesEndOnlyTheirConnection) {
  auto task = [&](std::string bytes) -> Task<Result<std::string>> {
    HARENA_CO_TRY(auto stream, co_await http::connect_unix(shim.socket()));
    HARENA_CO_TRY_STATUS(co_await stream->write(bytes));
    std::string all;
    std::vector<std::byte> buffer(4096);
    for (;;) {
      auto got = co_await stream->read(buffer);
      if (!got || *got == 0) co_return all;
      all.append(reinterpret_cast<const char*>(buffer.data()), *got);
    }
  };
  std::string huge, unknown, before_hello;
  append_header(huge, {0xffffffff, FrameType::hello, 0, 0});
  append_message(unknown, FrameType::hello, {});
  append_message(unknown, static_cast<FrameType>(0x7fff), {});
  append_message(before_hello, FrameType::list, {});
  for (const auto& bytes : {huge, unknown, before_hello, std::string(64, '\xff')}) EXPECT_TRUE(await(task(bytes)));
  EXPECT_EQ(must_run(argv({"true"})).exit.code, 0);
}

}  // namespace
}  // namespace harena::session
