// kill -9 at every step: the store refuses everything from the N-th transaction on, as if the process had ended there;
// then a new manager over the same store and machine recovers.
#include <gtest/gtest.h>

#include "core/lifecycle/testing/bench.hpp"

namespace harena {
namespace {

/// From the n-th transaction on (0: the first) nothing reaches the store.
void die_at_transaction(Bench& bench, int n) {
  bench.store.before_txn = [n, seen = 0](const std::vector<StateOp>&) mutable -> Status {
    return seen++ >= n ? Status(make_error(ErrorCode::unavailable, "the process is dead")) : ok_status();
  };
}

/// Everything agrees: records, machine, folders, and no record is half-made.
void expect_consistent(Bench& bench) {
  std::size_t living = 0;
  const auto page = bench.manager->list({}, {}, "", 1000);
  ASSERT_TRUE(page.ok());
  for (const auto& sandbox : page->sandboxes) {
    EXPECT_FALSE(is_transient(sandbox.state)) << to_string(sandbox.state);
    if (!is_terminal(sandbox.state)) ++living;
  }
  EXPECT_EQ(living, bench.manager->living());
  EXPECT_EQ(living, bench.backend.alive());
  EXPECT_EQ(bench.folders(), 2 * living);
  EXPECT_EQ(bench.quotas->used(ProjectPath::root()).sandboxes, static_cast<std::int64_t>(living));
}

void restart_and_recover(Bench& bench) {
  bench.store.before_txn = nullptr;
  bench.backend.script = nullptr;
  bench.restart();
  ASSERT_TRUE(bench.manager->recover().ok());
  expect_consistent(bench);
}

TEST(Recovery, RunningAndPausedSandboxesGoOn) {
  Bench bench;
  const auto a = bench.manager->create({}, Bench::spec())->id;
  const auto b = bench.manager->create({}, Bench::spec())->id;
  ASSERT_TRUE(bench.manager->pause({}, b).ok());
  restart_and_recover(bench);
  EXPECT_EQ(bench.manager->get({}, a)->state, SandboxState::running);
  EXPECT_EQ(bench.manager->get({}, a)->session_endpoint, "again");
  EXPECT_EQ(bench.manager->get({}, b)->state, SandboxState::paused);
}

TEST(Recovery, WhatVanishedIsFailedWithACause) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec())->id;
  bench.backend.vanish(id);
  restart_and_recover(bench);
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::failed);
  EXPECT_EQ(bench.manager->get({}, id)->ending.cause, Cause::infrastructure);
}

TEST(Recovery, EveryDeathDuringCreateIsMended) {
  for (int n = 0; n < 4; ++n) {
    Bench bench;
    die_at_transaction(bench, n);
    const auto spec = Bench::spec(R"({"idempotency_key":"k"})");
    (void)bench.manager->create({}, spec);
    restart_and_recover(bench);
    const auto again = bench.manager->create({}, spec);
    ASSERT_TRUE(again.ok()) << n << ": " << again.error().describe();
    EXPECT_EQ(bench.backend.alive(), 1u) << n;
  }
}

TEST(Recovery, EveryDeathDuringAVerbIsMended) {
  using Verbs = std::function<void(SandboxManager&, const SandboxId&)>;
  const std::vector<Verbs> verbs = {
      [](auto& manager, const auto& id) { (void)manager.pause({}, id); },
      [](auto& manager, const auto& id) { (void)manager.pause({}, id); (void)manager.resume({}, id); },
      [](auto& manager, const auto& id) { (void)manager.stop({}, id, 0); },
      [](auto& manager, const auto& id) { manager.on_exit(id, {Cause::agent, "init", "it ended"}); },
  };
  for (const auto& verb : verbs) {
    for (int n = 0; n < 5; ++n) {
      Bench bench;
      const auto id = bench.manager->create({}, Bench::spec())->id;
      die_at_transaction(bench, n);
      verb(*bench.manager, id);
      restart_and_recover(bench);
    }
  }
}

TEST(Recovery, ForeignFoldersAreLeftAlone) {
  Bench bench;
  std::filesystem::create_directories(bench.folder + "/run/sandboxes/not-ours");
  std::filesystem::create_directories(bench.folder + "/run/sandboxes/otherabcdefghij01234");
  std::filesystem::create_directories(bench.folder + "/run/sandboxes/edge1abcdefghij01234");
  bench.restart();
  ASSERT_TRUE(bench.manager->recover().ok());
  EXPECT_TRUE(std::filesystem::exists(bench.folder + "/run/sandboxes/not-ours"));
  EXPECT_TRUE(std::filesystem::exists(bench.folder + "/run/sandboxes/otherabcdefghij01234"));
  EXPECT_FALSE(std::filesystem::exists(bench.folder + "/run/sandboxes/edge1abcdefghij01234"));
}

TEST(Recovery, ASandboxWhoseBackendIsDisabledIsKept) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec())->id;
  bench.registry = BackendRegistry();
  bench.restart();
  ASSERT_TRUE(bench.manager->recover().ok());
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::running);
  EXPECT_EQ(bench.manager->pause({}, id).error().code, ErrorCode::failed_precondition);
  EXPECT_EQ(bench.folders(), 2u);
}

}  // namespace
}  // namespace harena
