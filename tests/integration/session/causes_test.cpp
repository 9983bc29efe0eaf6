// How commands end, and what is said of it: every cause brought about for real, in a sandbox with real limits.

#include <sys/statvfs.h>

#include "tests/integration/session/namespace_fixture.hpp"

namespace harena::session {
namespace {

class Causes : public NamespaceTest {
 protected:
  /// Starts it and comes back at once.
  std::string start(StartRequest request) {
    auto started = await(client->start(std::move(request)));
    EXPECT_TRUE(started) << (started ? "" : started.error().describe());
    return started ? started->command : "";
  }
  ExitStatus wait(const std::string& command) {
    auto info = await(client->wait(command, 20'000));
    EXPECT_TRUE(info && info->exit) << command;
    return info && info->exit ? *info->exit : ExitStatus{};
  }
};

SandboxLimits small_memory() {
  SandboxLimits limits;
  limits.memory_bytes = 64 << 20;
  return limits;
}

TEST_F(Causes, OomOfTheCommandItselfAndThroughAShell) {
  HARENA_MAKE_SANDBOX(small_memory());
  auto direct = must_run(argv({"tail", "/dev/zero"})).exit;
  EXPECT_EQ(direct.cause, ExitCause::oom);
  EXPECT_EQ(direct.cause_detail, "memory");
  EXPECT_EQ(direct.signal, SIGKILL);
  EXPECT_GE(direct.oom_kills, 1u);
  auto shelled = must_run(shell("tail /dev/zero; code=$?; echo after; exit $code"));
  EXPECT_EQ(shelled.out, "after\n");
  EXPECT_EQ(shelled.exit.code, 137);
  EXPECT_EQ(shelled.exit.cause, ExitCause::oom);
  // A command that got over it succeeded; the count says what happened all the same.
  auto survived = must_run(shell("tail /dev/zero; exit 0")).exit;
  EXPECT_EQ(survived.cause, ExitCause::exit);
  EXPECT_EQ(survived.oom_kills, 1u);
}

TEST_F(Causes, AKillThatNobodyElseExplainsIsTheAgents) {
  HARENA_MAKE_SANDBOX(small_memory());
  must_run(argv({"tail", "/dev/zero"}));
  auto exit = must_run(shell("kill -9 $$")).exit;
  EXPECT_EQ(exit.cause, ExitCause::signal);
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(exit.oom_kills, 0u);
  // Also beside an OOM kill that explains another command.
  auto sleeper = start(shell("sleep 30 & wait"));
  must_run(argv({"tail", "/dev/zero"}));
  ASSERT_TRUE(await(client->signal(sleeper, SIGKILL, SignalTarget::process)));
  EXPECT_EQ(wait(sleeper).cause, ExitCause::signal);
}

SandboxLimits few_processes() {
  SandboxLimits limits;
  limits.pids = 30;
  return limits;
}

TEST_F(Causes, RefusedForksExplainAFailure) {
  HARENA_MAKE_SANDBOX(few_processes());
  auto exit = must_run(shell("for i in $(seq 60); do sleep 20 & done; wait")).exit;
  EXPECT_EQ(exit.cause, ExitCause::pids);
  EXPECT_NE(exit.code, 0);
  EXPECT_GE(exit.forks_refused, 1u);
}

TEST_F(Causes, AStartAtTheLimitIsATypedErrorAndLeavesNothing) {
  HARENA_MAKE_SANDBOX(few_processes());
  std::vector<std::string> sleepers;
  auto refused = await([&]() -> Task<Status> {
    auto request = argv({"sleep", "30"});
    for (int i = 0; i < 60; ++i) {
      HARENA_CO_TRY(auto started, co_await client->start(request));
      sleepers.push_back(started.command);
    }
    co_return ok_status();
  }());
  ASSERT_FALSE(refused) << "60 processes with a limit of 30";
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(refused.error().cause, Cause::limit);
  EXPECT_EQ(refused.error().cause_detail, "pids");
  // Our init is one of the thirty.
  EXPECT_EQ(sleepers.size(), 29u);
  auto before = await(client->stats());
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(try_run(argv({"true"})));
  auto after = await(client->stats());
  EXPECT_EQ(after->descriptors, before->descriptors);
  EXPECT_EQ(after->commands_kept, before->commands_kept);
  for (const auto& sleeper : sleepers) EXPECT_TRUE(await(client->forget(sleeper)));
  EXPECT_TRUE(await([&]() -> Task<Status> {
    auto request = argv({"true"});
    for (int i = 0; i < 500; ++i) {
      if (co_await client->start(request)) co_return ok_status();
    }
    co_return make_error(ErrorCode::internal, "still refused");
  }()));
}

TEST_F(Causes, AFullDiskExplainsAFailureWhileItIsFull) {
  SandboxLimits limits;
  limits.root_bytes = 8 << 20;
  HARENA_MAKE_SANDBOX(limits);
  auto exit = must_run(argv({"dd", "if=/dev/zero", "of=/fill", "bs=64k"})).exit;
  EXPECT_EQ(exit.code, 1);
  EXPECT_EQ(exit.cause, ExitCause::disk);
  EXPECT_EQ(exit.cause_detail, "sandbox");
  EXPECT_EQ(must_run(shell("exit 0")).exit.cause, ExitCause::exit);
  EXPECT_EQ(must_run(shell("rm /fill; exit 1")).exit.cause, ExitCause::exit);
}

TEST_F(Causes, FullDiskUnderTheSpools) {
  SandboxLimits limits;
  limits.run_dir_bytes = 4 << 20;
  HARENA_MAKE_SANDBOX(limits);
  auto goes_on = must_run(shell("head -c 8000000 /dev/zero; exit 3"));
  EXPECT_EQ(goes_on.exit.code, 3);
  EXPECT_EQ(goes_on.exit.cause, ExitCause::exit);
  EXPECT_EQ(goes_on.exit.stdout_bytes, 8'000'000u);
  EXPECT_EQ(goes_on.truncated_by, "disk");
  EXPECT_EQ(goes_on.out.size(), goes_on.exit.stdout_kept);
  auto killed = shell("yes");
  killed.on_output_limit = OnOutputLimit::kill;
  auto exit = must_run(killed).exit;
  EXPECT_EQ(exit.cause, ExitCause::disk);
  EXPECT_EQ(exit.cause_detail, "spool");
  // What is forgotten makes room.
  ASSERT_TRUE(await(client->forget(goes_on.command)));
  EXPECT_EQ(must_run(shell("head -c 2000000 /dev/zero")).out.size(), 2'000'000u);
}

TEST_F(Causes, StoppingTheSandboxExplainsWhatFailsThen) {
  HARENA_MAKE_SANDBOX();
  auto by_signal = start(argv({"sleep", "30"})), by_trap = start(shell("trap 'exit 5' TERM; echo; while :; do sleep 0.02; done")),
       deaf = start(shell("trap '' TERM; echo; while :; do sleep 0.02; done"));
  std::vector<ExitStatus> ends;
  auto task = [&]() -> Task<Status> {
    for (const auto& command : {by_trap, deaf}) {
      for (std::uint64_t said = 0; said == 0;) {
        HARENA_CO_TRY(auto info, co_await client->info(command));
        said = info.stdout_bytes;
      }
    }
    HARENA_CO_TRY_STATUS(co_await client->shutdown(300));
    for (const auto& command : {by_signal, by_trap, deaf}) {
      HARENA_CO_TRY(auto info, co_await client->wait(command, 0));
      if (!info.exit) co_return make_error(ErrorCode::internal, "no exit");
      ends.push_back(*info.exit);
    }
    co_return ok_status();
  };
  auto status = await(task());
  ASSERT_TRUE(status) << status.error().describe();
  for (const auto& end : ends) EXPECT_EQ(end.cause, ExitCause::sandbox_stopped) << end.code << " " << end.signal;
  EXPECT_EQ(ends[0].signal, SIGTERM);
  EXPECT_EQ(ends[1].code, 5);
  EXPECT_EQ(ends[2].signal, SIGKILL);
}

TEST_F(Causes, OrphansLeaveNoZombie) {
  HARENA_MAKE_SANDBOX([] { SandboxLimits limits; limits.pids = 2000; return limits; }());
  must_run(shell("for i in $(seq 300); do (sleep 0.01 & :) & done; wait"));
  auto left = must_run(shell("for i in $(seq 100); do n=$(grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l); "
                             "[ $n = 0 ] && break; sleep 0.05; done; echo $n"));
  EXPECT_EQ(left.out, "0\n");
}

/// The cap of all outputs of a sandbox together.
class SpoolCap : public SessionTest {
 protected:
  SpoolCap() : SessionTest({"--mode", "host", "--spool-cap", "1000000"}) {}
};

TEST_F(SpoolCap, EndedResultsMakeRoomAndThenOutputIsDropped) {
  auto first = must_run(shell("head -c 700000 /dev/zero"));
  EXPECT_EQ(first.out.size(), 700'000u);
  auto second = must_run(shell("head -c 700000 /dev/zero"));
  EXPECT_EQ(second.out.size(), 700'000u);
  // The oldest ended command went, with its record.
  EXPECT_EQ(await(client.info(first.command)).error().code, ErrorCode::not_found);
  // Of running ones nothing is taken away: what comes last is dropped.
  auto task = [&]() -> Task<Result<RunResult>> {
    auto holder = shell("head -c 800000 /dev/zero; sleep 30");
    HARENA_CO_TRY(auto held, co_await client.start_attached(holder));
    std::uint64_t seen = 0;
    while (seen < 800'000) {
      HARENA_CO_TRY(auto event, co_await held.output.next());
      seen += event.bytes.size();
    }
    auto late = shell("head -c 500000 /dev/zero");
    co_return co_await run(client, late);
  };
  auto late = await(task());
  ASSERT_TRUE(late) << late.error().describe();
  EXPECT_EQ(late->truncated_by, "sandbox");
  EXPECT_EQ(late->out.size(), 200'000u);
  EXPECT_EQ(late->exit.stdout_bytes, 500'000u);
  auto killed = shell("yes");
  killed.on_output_limit = OnOutputLimit::kill;
  auto exit = must_run(killed).exit;
  EXPECT_EQ(exit.cause, ExitCause::output_limit);
  EXPECT_EQ(exit.cause_detail, "sandbox");
  EXPECT_LE(await(client.stats())->spool_bytes, 1'000'000u);
}

}  // namespace
}  // namespace harena::session
