#include "core/store/sandbox_repository.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "core/store/keys.hpp"
#include "core/store/testing/memory_state_store.hpp"
#include "core/store/testing/sandboxes.hpp"

namespace harena {
namespace {

using testing_support::numbered_id;
using testing_support::numbered_sandbox;

struct SandboxRepositoryTest : testing::Test {
  Result<CreateOutcome> create(const Sandbox& sandbox) {
    return sandboxes.create(call, sandbox, idempotency_of(sandbox.spec));
  }
  MemoryStateStore store;
  SandboxRepository sandboxes{store};
  CallContext call;
};

TEST_F(SandboxRepositoryTest, CreateThenGet) {
  const auto made = create(numbered_sandbox(1)).value();
  EXPECT_TRUE(made.created);
  EXPECT_EQ(sandboxes.get(call, numbered_id(1)).value().backend_state, "opaque");
  EXPECT_EQ(sandboxes.get(call, numbered_id(2)).error().code, ErrorCode::not_found);
}

TEST_F(SandboxRepositoryTest, WhatALifeWritesNeedNotOutliveAPowerCut) {
  auto sandbox = numbered_sandbox(1, "k");
  ASSERT_TRUE(create(sandbox).ok());
  sandbox.state = SandboxState::stopping;
  ASSERT_TRUE(sandboxes.save(call, sandbox).ok());
  ASSERT_TRUE(sandboxes.abandon(call, sandbox).ok());
  EXPECT_EQ(store.relaxed(), 3);
  ASSERT_TRUE(create(numbered_sandbox(2)).ok());
  ASSERT_TRUE(sandboxes.remove(call, numbered_id(2)).ok());
  EXPECT_EQ(store.relaxed(), 4) << "an operator's removal is for good";
}

TEST_F(SandboxRepositoryTest, AnIdInUseIsAlreadyExists) {
  ASSERT_TRUE(create(numbered_sandbox(1)).ok());
  EXPECT_EQ(create(numbered_sandbox(1)).error().code, ErrorCode::already_exists);
}

TEST_F(SandboxRepositoryTest, TheSameKeyNeverMakesTwo) {
  ASSERT_TRUE(create(numbered_sandbox(1, "k")).value().created);
  const auto again = create(numbered_sandbox(2, "k")).value();
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.sandbox.id, numbered_id(1));
  EXPECT_FALSE(sandboxes.get(call, numbered_id(2)).ok());
}

TEST_F(SandboxRepositoryTest, TheSameKeyInAnotherProjectIsAnotherKey) {
  ASSERT_TRUE(create(numbered_sandbox(1, "k")).value().created);
  auto other = numbered_sandbox(2, "k");
  other.spec.project = ProjectPath::parse("root/a").value();
  EXPECT_TRUE(create(other).value().created);
}

TEST_F(SandboxRepositoryTest, TheSameKeyWithAnotherRequestIsRefusedNamingTheSandbox) {
  ASSERT_TRUE(create(numbered_sandbox(1, "k")).ok());
  auto other = numbered_sandbox(2, "k");
  other.spec.image = "root/base:v2";
  const auto refused = create(other);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
  EXPECT_NE(refused.error().message.find(numbered_id(1).str()), std::string::npos);
}

TEST_F(SandboxRepositoryTest, ACreateWhoseAnswerWasLostCanBeRepeated) {
  store.after_txn = [&](const std::vector<StateOp>&) -> Status {
    store.after_txn = nullptr;
    return make_error(ErrorCode::unknown, "the connection broke");
  };
  EXPECT_EQ(create(numbered_sandbox(1, "k")).error().code, ErrorCode::unknown);
  const auto again = create(numbered_sandbox(1, "k")).value();
  EXPECT_TRUE(again.created);
  EXPECT_EQ(again.sandbox.id, numbered_id(1));
  EXPECT_TRUE(sandboxes.save(call, numbered_sandbox(1, "k")).ok());
}

TEST_F(SandboxRepositoryTest, ThirtyTwoThreadsWithOneKeyMakeOne) {
  std::vector<std::thread> threads;
  std::atomic<int> created = 0, failed = 0;
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&, i] {
      const auto made = create(numbered_sandbox(i + 1, "k"));
      if (!made) ++failed;
      if (made && made->created) ++created;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(created, 1);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(sandboxes.load_all(call, [](Sandbox) { return ok_status(); }).value().loaded, 1);
}

TEST_F(SandboxRepositoryTest, SaveComparesWithWhatItKnows) {
  ASSERT_TRUE(create(numbered_sandbox(1)).ok());
  SandboxRepository another(store);
  ASSERT_TRUE(another.save(call, numbered_sandbox(1)).ok());
  EXPECT_EQ(sandboxes.save(call, numbered_sandbox(1)).error().code, ErrorCode::aborted);
  EXPECT_TRUE(sandboxes.save(call, numbered_sandbox(1)).ok());  // it has read again
}

TEST_F(SandboxRepositoryTest, SaveOfARemovedOneIsNotFoundAndMakesNone) {
  EXPECT_EQ(sandboxes.save(call, numbered_sandbox(1)).error().code, ErrorCode::not_found);
  EXPECT_EQ(store.size(), 0u);
}

TEST_F(SandboxRepositoryTest, AFailedTransactionLeavesNothing) {
  store.before_txn = [](const std::vector<StateOp>&) -> Status {
    return make_error(ErrorCode::resource_exhausted, "the disk is full");
  };
  EXPECT_EQ(create(numbered_sandbox(1, "k")).error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(store.size(), 0u);
}

TEST_F(SandboxRepositoryTest, LoadAllReadsEveryPageAndReportsDamage) {
  for (int i = 1; i <= 600; ++i) ASSERT_TRUE(create(numbered_sandbox(i)).ok());
  ASSERT_TRUE(store.txn(call, {StateOp::put(keys::sandbox(numbered_id(300)), "{\"schema\":7}")}).ok());
  int seen = 0;
  const auto report = sandboxes.load_all(call, [&](Sandbox) { ++seen; return ok_status(); }).value();
  EXPECT_EQ(report.loaded, 599);
  EXPECT_EQ(seen, 599);
  ASSERT_EQ(report.damaged.size(), 1u);
  EXPECT_EQ(report.damaged[0].key, keys::sandbox(numbered_id(300)));
  EXPECT_EQ(report.damaged[0].error.code, ErrorCode::data_loss);
}

TEST_F(SandboxRepositoryTest, LoadAllEndsWithTheErrorOfItsVisitor) {
  ASSERT_TRUE(create(numbered_sandbox(1)).ok());
  const auto ended = sandboxes.load_all(call, [](Sandbox) -> Status {
    return make_error(ErrorCode::cancelled, "enough");
  });
  EXPECT_EQ(ended.error().code, ErrorCode::cancelled);
}

TEST_F(SandboxRepositoryTest, ListPagesByIdAndFilters) {
  for (int i = 1; i <= 10; ++i) {
    auto sandbox = numbered_sandbox(i);
    sandbox.spec.labels["even"] = i % 2 == 0 ? "yes" : "no";
    ASSERT_TRUE(create(sandbox).ok());
  }
  std::vector<SandboxId> seen;
  std::string cursor;
  do {
    const auto page = sandboxes.list(call, {.labels = {{"even", "yes"}}}, cursor, 2).value();
    for (const auto& sandbox : page.sandboxes) seen.push_back(sandbox.id);
    cursor = page.next_cursor;
  } while (!cursor.empty());
  EXPECT_EQ(seen, (std::vector<SandboxId>{numbered_id(2), numbered_id(4), numbered_id(6), numbered_id(8),
                                          numbered_id(10)}));
}

TEST_F(SandboxRepositoryTest, ListRefusesBadLimitsAndCursors) {
  for (const std::int64_t limit : {0l, -1l, 1'001l}) {
    EXPECT_EQ(sandboxes.list(call, {}, "", limit).error().code, ErrorCode::invalid_argument) << limit;
  }
  EXPECT_EQ(sandboxes.list(call, {}, "../x", 5).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace harena
