#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/lifecycle/testing/bench.hpp"

namespace harena {
namespace {

ProjectPath project(const char* path) { return *ProjectPath::parse(path); }

SandboxUpdate to(const char* path) {
  SandboxUpdate update;
  update.owner = SandboxOwner{project(path), "token:new"};
  return update;
}

TEST(Handover, ALabelIsClaimedOnce) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec(R"({"labels":{"pool":"ready"}})"))->id;
  std::atomic<int> claimed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      SandboxUpdate mine;
      mine.if_labels = {{"pool", "ready"}};
      mine.labels = Labels{{"pool", "of " + std::to_string(i)}};
      claimed += bench.manager->update({}, id, mine).ok() ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(claimed, 1);
}

TEST(Handover, ARefusedClaimChangesNothingAndNamesTheLabel) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec(R"({"labels":{"pool":"ready"}})"))->id;
  SandboxUpdate update = to("root/b");
  update.if_labels = {{"other", "x"}};
  update.labels = Labels();
  const auto refused = bench.manager->update({}, id, update);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
  EXPECT_NE(refused.error().message.find("label 'other' is absent"), std::string::npos) << refused.error().message;
  EXPECT_EQ(bench.manager->get({}, id)->spec.labels.count("pool"), 1u);
  EXPECT_EQ(bench.quotas->used(project("root/b")).sandboxes, 0);
}

TEST(Handover, QuotasFollowTheOwner) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec(R"({"project":"root/a","params":{"cpu":2}})"))->id;
  const auto given = bench.manager->update({}, id, to("root/b"));
  ASSERT_TRUE(given.ok()) << given.error().describe();
  EXPECT_EQ(given->spec.project.str(), "root/b");
  EXPECT_EQ(given->created_by, "token:new");
  EXPECT_EQ(bench.quotas->used(project("root/a")).sandboxes, 0);
  EXPECT_EQ(bench.quotas->used(project("root/b")).cpu_milli, 2'000);
  EXPECT_EQ(bench.quotas->used(ProjectPath::root()).sandboxes, 1);
  bench.restart();
  ASSERT_TRUE(bench.manager->recover().ok());
  EXPECT_EQ(bench.quotas->used(project("root/b")).sandboxes, 1);
  ASSERT_TRUE(bench.manager->stop({}, id, 0).ok());
  EXPECT_EQ(bench.quotas->used(ProjectPath::root()).sandboxes, 0);
}

TEST(Handover, AFullProjectGetsNothing) {
  Bench bench;
  bench.quotas->set_limits(project("root/b"), QuotaLimits{.sandboxes = 0});
  const auto id = bench.manager->create({}, Bench::spec(R"({"project":"root/a"})"))->id;
  const auto refused = bench.manager->update({}, id, to("root/b"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(bench.manager->get({}, id)->spec.project.str(), "root/a");
  EXPECT_EQ(bench.quotas->used(project("root/a")).sandboxes, 1);
}

TEST(Handover, WhatBothProjectsAreBelowIsAskedForNothingMore) {
  Bench bench;
  bench.quotas->set_limits(ProjectPath::root(), QuotaLimits{.sandboxes = 1});
  const auto id = bench.manager->create({}, Bench::spec(R"({"project":"root/a"})"))->id;
  EXPECT_TRUE(bench.manager->update({}, id, to("root/b")).ok());
}

TEST(Handover, AStoreThatFailsLeavesItWhereItWas) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec(R"({"project":"root/a"})"))->id;
  bench.store.before_txn = [](const std::vector<StateOp>&) -> Status { return make_error(ErrorCode::unavailable, "disk"); };
  EXPECT_FALSE(bench.manager->update({}, id, to("root/b")).ok());
  EXPECT_EQ(bench.quotas->used(project("root/a")).sandboxes, 1);
  EXPECT_EQ(bench.quotas->used(project("root/b")).sandboxes, 0);
  EXPECT_EQ(bench.manager->get({}, id)->spec.project.str(), "root/a");
}

TEST(Handover, OneMadeUnderAnIdempotencyKeyStays) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec(R"({"project":"root/a","idempotency_key":"k"})"))->id;
  const auto refused = bench.manager->update({}, id, to("root/b"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
}

}  // namespace
}  // namespace harena
