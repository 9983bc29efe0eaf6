// The cases that need a crowd or bulk. Short forms always; as long as the promises say with HARENA_LONG_TESTS=1.

#include <fstream>

#include "tests/integration/session/shim_fixture.hpp"

namespace harena::session {
namespace {

bool is_long() {
  const char* flag = std::getenv("HARENA_LONG_TESTS");
  return flag != nullptr && std::string_view(flag) == "1";
}
int short_or_long(int brief, int whole) { return is_long() ? whole : brief; }

class Stress : public SessionTest {
 protected:
  /// `total` runs of the request that `make` gives, at most `parallel` at once; how many satisfied `good`.
  int run_many(int total, int parallel, std::function<StartRequest(int)> make, std::function<bool(const Result<RunResult>&)> good) {
    int started = 0, done = 0, right = 0;
    std::function<void()> next = [&] {
      if (started == total) return;
      spawn<Result<RunResult>>(run(client, make(started++)), [&](Result<RunResult> result) {
        ++done;
        if (good(result)) ++right;
        next();
      });
    };
    for (int i = 0; i < parallel; ++i) next();
    io.restart();
    while (done < total) io.run_one();
    return right;
  }
  /// Of the shim alone: connections that were closed here may not be noticed there yet.
  std::uint32_t descriptors() {
    auto stats = await(client.stats());
    return stats ? stats->descriptors - stats->connections : 0;
  }
  std::uint64_t resident_kb() {
    std::ifstream file("/proc/" + std::to_string(shim.pid()) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("VmRSS:")) return std::stoull(line.substr(6));
    }
    return 0;
  }
};

TEST_F(Stress, EveryLastLineUnderLoad) {
  int lines = short_or_long(20'000, 200'000);
  std::string end = std::to_string(lines) + "\nEND\n";
  int total = short_or_long(64, 200);
  auto make = [&](int) { return shell("seq 1 " + std::to_string(lines) + "; sleep 0.2; echo END"); };
  EXPECT_EQ(run_many(total, 64, make, [&](const Result<RunResult>& result) {
              return result && result->out.ends_with(end) && result->after_exit == 0 && result->exit.stdout_bytes == result->out.size();
            }), total);
}

TEST_F(Stress, AThousandExitSevenAtOnce) {
  must_run(argv({"true"}));
  auto before = descriptors();
  int total = short_or_long(200, 1000);
  EXPECT_EQ(run_many(total, total, [](int) { return shell("exit 7"); },
                     [](const Result<RunResult>& result) { return result && result->exit.code == 7; }), total);
  EXPECT_EQ(descriptors(), before);
}

TEST_F(Stress, FailingSpawnsLeaveDescriptorsFlat) {
  must_run(argv({"true"}));
  auto before = descriptors();
  int total = short_or_long(1'000, 10'000);
  std::vector<StartRequest> wrong(4, argv({"true"}));
  wrong[0].argv = {"/no/such/program"};
  wrong[1].cwd = "/no/such/folder";
  wrong[2].user = "no-such-user";
  wrong[3].argv = {"/etc/passwd"};
  EXPECT_EQ(run_many(total, 16, [&](int i) { return wrong[static_cast<std::size_t>(i) % wrong.size()]; },
                     [](const Result<RunResult>& result) { return !result && result.error().cause == Cause::agent; }), total);
  // Without a starter that waits for the failure: nothing is kept of these either.
  for (int i = 0; i < total / 10; ++i) {
    auto task = [&]() -> Task<Status> {
      HARENA_CO_TRY(auto channel, co_await endpoint->acquire());
      co_return co_await channel->send_message(FrameType::start, wrong[0]);
    };
    ASSERT_TRUE(await(task()));
  }
  // Behind them all: what came before is settled when this has run.
  EXPECT_EQ(must_run(argv({"true"})).exit.code, 0);
  std::uint32_t kept = 1000, open = 0;
  for (int look = 0; look < 2000 && (kept > 2 || open != before); ++look) {
    auto stats = await(client.stats());
    ASSERT_TRUE(stats);
    kept = stats->commands_kept + stats->commands_running;
    open = stats->descriptors - stats->connections;
  }
  EXPECT_EQ(kept, 2u);
  EXPECT_EQ(open, before);
}

TEST_F(Stress, StartAndImmediateCancelThenANormalOne) {
  must_run(argv({"true"}));
  auto before = descriptors();
  auto request = shell("sleep 30");
  request.on_disconnect = OnDisconnect::kill;
  request.attach = true;
  for (int i = 0; i < 500; ++i) {
    auto task = [&]() -> Task<Status> {
      HARENA_CO_TRY(auto channel, co_await endpoint->acquire());
      HARENA_CO_TRY_STATUS(co_await channel->send_message(FrameType::start, request));
      // Every third waits until it runs; the others leave in the middle of the start.
      if (i % 3 == 0) HARENA_CO_TRY_STATUS(co_await channel->receive());
      co_return ok_status();
    };
    ASSERT_TRUE(await(task()));
  }
  EXPECT_EQ(must_run(shell("echo normal")).out, "normal\n");
  std::uint32_t running = 1, open = 0;
  for (int look = 0; look < 20'000 && (running > 0 || open != before); ++look) {
    auto stats = await(client.stats());
    ASSERT_TRUE(stats);
    running = stats->commands_running;
    open = stats->descriptors - stats->connections;
  }
  EXPECT_EQ(running, 0u);
  EXPECT_EQ(open, before);
}

TEST_F(Stress, NoReaderOfYesNeitherBlocksNorBloats) {
  auto request = argv({"yes"});
  request.timeout_ms = static_cast<std::uint64_t>(short_or_long(1'500, 60'000));
  request.output_limit_bytes = 8 << 20;
  auto before = resident_kb();
  auto task = [&]() -> Task<Result<CommandInfo>> {
    HARENA_CO_TRY(auto started, co_await client.start(request));
    co_return co_await client.wait(started.command, 0);
  };
  auto info = await(task());
  ASSERT_TRUE(info && info->exit);
  EXPECT_EQ(info->exit->cause, ExitCause::timeout);
  EXPECT_EQ(info->stdout_kept, 8u << 20);
  // It went on writing: far more than any buffer on the way holds.
  EXPECT_GT(info->stdout_bytes, 64u << 20);
  EXPECT_LT(resident_kb(), before + 4096);
  EXPECT_LE(std::filesystem::file_size(shim.run_dir() + "/commands/" + info->id + ".out"), 8u << 20);
}

TEST_F(Stress, AReaderThatDoesNotReadHoldsUpNobody) {
  auto task = [&]() -> Task<Result<RunResult>> {
    auto request = shell("head -c 30000000 /dev/zero; echo END");
    // Attached, and never read from.
    HARENA_CO_TRY(auto idle, co_await client.start_attached(request));
    AttachRequest attach;
    attach.command = idle.started.command;
    HARENA_CO_TRY(auto reader, co_await client.attach(attach));
    HARENA_CO_TRY(auto result, co_await collect(reader));
    HARENA_CO_TRY(auto late, co_await collect(idle.output));
    if (late.out != result.out) co_return make_error(ErrorCode::data_loss, "the slow reader saw something else");
    co_return result;
  };
  auto before = resident_kb();
  auto result = await(task());
  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_EQ(result->out.size(), 30'000'004u);
  EXPECT_LT(resident_kb(), before + 8192);
}

TEST_F(Stress, StdinInBulkIntoASlowReader) {
  auto megabytes = static_cast<std::size_t>(short_or_long(10, 50));
  std::string data(megabytes << 20, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 31 + (i >> 9));
  std::ofstream(shim.folder() + "/copy", std::ios::binary) << data;
  // Slow: a pause before every megabyte.
  auto request = shell("(for i in $(seq " + std::to_string(megabytes) + "); do sleep 0.02; head -c 1048576; done; cat) | cksum");
  request.stdin_mode = StdinMode::pipe;
  auto task = [&]() -> Task<Result<RunResult>> {
    HARENA_CO_TRY(auto attached, co_await client.start_attached(request));
    // By the same connection: written while nothing is read.
    HARENA_CO_TRY_STATUS(co_await attached.output.write_stdin(data));
    HARENA_CO_TRY_STATUS(co_await attached.output.end_stdin());
    HARENA_CO_TRY(auto result, co_await collect(attached.output));
    auto acked = attached.output.stdin_acked();
    if (acked != data.size()) co_return make_error(ErrorCode::data_loss, "acked " + std::to_string(acked));
    co_return result;
  };
  auto before = resident_kb();
  auto result = await(task());
  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_EQ(result->out, must_run(shell("cksum < " + shim.folder() + "/copy")).out);
  // Back-pressure: the bytes wait at the client, not in the shim.
  EXPECT_LT(resident_kb(), before + 6144);
}

TEST_F(Stress, PtyKeepsTheOrderAtSpeed) {
  int lines = short_or_long(20'000, 200'000);
  auto request = shell("i=0; while [ $i -lt " + std::to_string(lines / 2) + " ]; do echo o$i; echo e$i >&2; i=$((i+1)); done");
  request.pty = true;
  auto result = must_run(request);
  std::string expected;
  for (int i = 0; i < lines / 2; ++i) expected += "o" + std::to_string(i) + "\r\ne" + std::to_string(i) + "\r\n";
  EXPECT_EQ(result.out.size(), expected.size());
  EXPECT_TRUE(result.out == expected);
}

TEST_F(Stress, ManyOrphansLeaveNoZombieOfTheShim) {
  must_run(shell("for i in $(seq 300); do (sleep 0.01 & :) & done; wait"));
  auto zombies = "for i in $(seq 100); do n=$(grep -l '^PPid:.*[^0-9]" + std::to_string(shim.pid()) +
                 "$' /proc/[0-9]*/status 2>/dev/null | xargs grep -l '^State:.Z' 2>/dev/null | wc -l); "
                 "[ $n = 0 ] && break; sleep 0.05; done; echo $n";
  EXPECT_EQ(must_run(shell(zombies)).out, "0\n");
}

TEST_F(Stress, OneOpFromManyConnectionsStartsOnce) {
  auto request = shell("echo x >> " + shim.folder() + "/ran; sleep 0.1; echo out");
  request.op = "the-one";
  std::string id;
  int existing = 0;
  auto good = [&](const Result<RunResult>& result) {
    if (!result) return false;
    if (id.empty()) id = result->command;
    if (result->existing) ++existing;
    return result->command == id && result->out == "out\n" && result->exit.code == 0;
  };
  EXPECT_EQ(run_many(64, 64, [&](int) { return request; }, good), 64);
  EXPECT_EQ(existing, 63);
  // Over a new connection, of a client that knows nothing of the first.
  SessionClient other(Endpoint::over_unix(shim.socket()));
  auto again = await(run(other, request));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->command, id);
  EXPECT_EQ(again->out, "out\n");
  auto different = request;
  different.cwd = "/tmp";
  auto refused = await(run(other, different));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
  EXPECT_EQ(must_run(shell("cat " + shim.folder() + "/ran")).out, "x\n");
}

TEST_F(Stress, AnOpThatFailedToStartMayBeUsedAgain) {
  auto request = argv({"/no/such/program"});
  request.op = "failing";
  EXPECT_EQ(run_many(32, 32, [&](int) { return request; },
                     [](const Result<RunResult>& result) { return !result && result.error().cause_detail == "no_such_program"; }), 32);
  auto right = shell("echo ran");
  right.op = "failing";
  EXPECT_EQ(must_run(right).out, "ran\n");
}

TEST_F(Stress, RecordsStayWithinBoundsWithoutReaders) {
  int total = short_or_long(1'100, 3'000);
  auto request = shell("exit 0");
  auto task = [&]() -> Task<Status> {
    for (int i = 0; i < total; ++i) {
      HARENA_CO_TRY(auto started, co_await client.start(request));
      HARENA_CO_TRY_STATUS(co_await client.wait(started.command, 0));
    }
    co_return ok_status();
  };
  ASSERT_TRUE(await(task()));
  EXPECT_LE(await(client.stats())->commands_kept, 1000u);
}

}  // namespace
}  // namespace harena::session
