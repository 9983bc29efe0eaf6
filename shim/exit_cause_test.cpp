#include "shim/exit_cause.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace harena::shim {
namespace {

using session::ExitCause;

int exited(int code) { return code << 8; }
int killed(int signal) { return signal; }

EndFacts facts(int status) {
  EndFacts all;
  all.wait_status = status;
  return all;
}

TEST(ExitCause, ItsOwnDoing) {
  EXPECT_EQ(judge_end(facts(exited(0))).cause, ExitCause::exit);
  EXPECT_EQ(judge_end(facts(exited(137))).cause, ExitCause::exit);
  EXPECT_EQ(judge_end(facts(killed(SIGKILL))).cause, ExitCause::signal);
  EXPECT_EQ(judge_end(facts(killed(SIGSEGV))).cause, ExitCause::signal);
}

TEST(ExitCause, WhatTheEndpointEnded) {
  for (auto why : {ExitCause::timeout, ExitCause::no_output_timeout, ExitCause::killed, ExitCause::output_limit, ExitCause::sandbox_stopped,
                   ExitCause::platform}) {
    auto all = facts(killed(SIGKILL));
    all.killed_for = why;
    all.oom_kills = 1;
    EXPECT_EQ(judge_end(all).cause, why);
    // Ended by itself in the same moment.
    all.wait_status = exited(0);
    EXPECT_EQ(judge_end(all).cause, ExitCause::exit);
  }
}

TEST(ExitCause, OomNeedsTheCounterAndAKill) {
  auto all = facts(killed(SIGKILL));
  all.oom_kills = 1;
  all.memory_limit_hit = true;
  EXPECT_EQ(judge_end(all).cause, ExitCause::oom);
  all.wait_status = exited(137);
  EXPECT_EQ(judge_end(all).cause, ExitCause::oom);
  all.wait_status = exited(1);
  EXPECT_EQ(judge_end(all).cause, ExitCause::exit);
  all.wait_status = killed(SIGTERM);
  EXPECT_EQ(judge_end(all).cause, ExitCause::signal);
}

TEST(ExitCause, TheMachinesOwnLackOfMemoryIsNotTheSandboxs) {
  auto all = facts(killed(SIGKILL));
  all.oom_kills = 1;
  auto verdict = judge_end(all);
  EXPECT_EQ(verdict.cause, ExitCause::platform);
  EXPECT_EQ(verdict.detail, "host_memory");
}

TEST(ExitCause, RefusedForksAndFullDisksOnlyExplainFailures) {
  auto all = facts(exited(2));
  all.forks_refused = 5;
  all.disk_full = true;
  EXPECT_EQ(judge_end(all).cause, ExitCause::pids);
  all.forks_refused = 0;
  EXPECT_EQ(judge_end(all).cause, ExitCause::disk);
  all.wait_status = killed(SIGBUS);
  EXPECT_EQ(judge_end(all).cause, ExitCause::disk);
  all.wait_status = exited(0);
  all.forks_refused = 5;
  EXPECT_EQ(judge_end(all).cause, ExitCause::exit);
}

TEST(ExitCause, AStoppingSandboxExplainsEveryFailure) {
  auto all = facts(killed(SIGTERM));
  all.sandbox_ending = true;
  EXPECT_EQ(judge_end(all).cause, ExitCause::sandbox_stopped);
  all.wait_status = exited(143);
  EXPECT_EQ(judge_end(all).cause, ExitCause::sandbox_stopped);
  all.wait_status = exited(0);
  EXPECT_EQ(judge_end(all).cause, ExitCause::exit);
}

}  // namespace
}  // namespace harena::shim
