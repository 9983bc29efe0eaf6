#include <gtest/gtest.h>

#include "core/store/keys.hpp"
#include "core/store/sandbox_repository.hpp"
#include "core/store/testing/memory_state_store.hpp"
#include "core/store/testing/sandboxes.hpp"

namespace harena {
namespace {

using testing_support::ended;
using testing_support::numbered_id;
using testing_support::numbered_sandbox;

constexpr std::int64_t kHour = 3'600'000;

struct PurgeTest : testing::Test {
  void make(const Sandbox& sandbox) {
    ASSERT_TRUE(sandboxes.create(call, sandbox, idempotency_of(sandbox.spec)).ok());
  }
  void make_ended(int number, std::int64_t at_ms, const std::string& key = "") {
    make(numbered_sandbox(number, key));
    ASSERT_TRUE(sandboxes.save(call, ended(numbered_sandbox(number, key), at_ms)).ok());
  }
  bool there(int number) { return sandboxes.get(call, numbered_id(number)).ok(); }

  MemoryStateStore store;
  SandboxRepository sandboxes{store, {.keep_ms = kHour, .max_terminal = 100, .idempotency_keep_ms = 24 * kHour}};
  CallContext call;
};

TEST_F(PurgeTest, OnlyTerminalOnesWhoseTimeIsUp) {
  make(numbered_sandbox(1));
  make_ended(2, 10'000);
  make_ended(3, 20'000);
  EXPECT_EQ(sandboxes.purge(call, 10'000 + kHour - 1).value().sandboxes, 0);
  EXPECT_EQ(sandboxes.purge(call, 10'000 + kHour).value().sandboxes, 1);
  EXPECT_TRUE(there(1));
  EXPECT_FALSE(there(2));
  EXPECT_TRUE(there(3));
  EXPECT_EQ(sandboxes.purge(call, 100 * kHour).value().sandboxes, 1);
  EXPECT_EQ(store.size(), 1u);  // the living one and no index
}

TEST_F(PurgeTest, TheOldestGoFirstOverTheBound) {
  for (int i = 1; i <= 250; ++i) make_ended(i, 10'000 + i);
  EXPECT_EQ(sandboxes.purge(call, 11'000).value().sandboxes, 150);
  EXPECT_FALSE(there(150));
  EXPECT_TRUE(there(151));
  make_ended(251, 20'000);
  EXPECT_EQ(sandboxes.purge(call, 20'000).value().sandboxes, 1);  // counted without reading the index again
  EXPECT_FALSE(there(151));
}

TEST_F(PurgeTest, AKeyRemembersItsSandboxForADayAndThenNotAtAll) {
  make_ended(1, 10'000, "k");
  ASSERT_EQ(sandboxes.purge(call, 10'000 + 2 * kHour).value().sandboxes, 1);
  EXPECT_FALSE(there(1));
  const auto again = sandboxes.create(call, numbered_sandbox(2, "k"), idempotency_of(numbered_sandbox(2, "k").spec));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->sandbox.id, numbered_id(1));
  EXPECT_EQ(again->sandbox.state, SandboxState::stopped);
  EXPECT_EQ(sandboxes.purge(call, 10'000 + 24 * kHour - 1).value().idempotency_keys, 0);
  EXPECT_EQ(sandboxes.purge(call, 10'000 + 24 * kHour).value().idempotency_keys, 1);
  EXPECT_EQ(store.size(), 0u);
}

TEST_F(PurgeTest, AKeyOfALivingSandboxNeverExpires) {
  make(numbered_sandbox(1, "k"));
  EXPECT_EQ(sandboxes.purge(call, 10'000 * kHour).value().idempotency_keys, 0);
  EXPECT_TRUE(sandboxes.find_idempotent(call, *idempotency_of(numbered_sandbox(1, "k").spec)).value().has_value());
}

TEST_F(PurgeTest, RemoveOfALivingOneFreesItsKey) {
  make(numbered_sandbox(1, "k"));
  ASSERT_TRUE(sandboxes.remove(call, numbered_id(1)).ok());
  ASSERT_TRUE(sandboxes.remove(call, numbered_id(1)).ok());
  EXPECT_EQ(store.size(), 0u);
}

TEST_F(PurgeTest, AbandonUndoesACreateSoThatItsKeyTriesAnew) {
  make(numbered_sandbox(1, "k"));
  ASSERT_TRUE(sandboxes.abandon(call, numbered_sandbox(1, "k")).ok());
  ASSERT_TRUE(sandboxes.abandon(call, numbered_sandbox(1, "k")).ok());
  EXPECT_EQ(store.size(), 0u);
  const auto again = numbered_sandbox(2, "k");
  EXPECT_TRUE(sandboxes.create(call, again, idempotency_of(again.spec)).value().created);
}

TEST_F(PurgeTest, RemoveOfATerminalOneLeavesItsKeyRemembering) {
  make_ended(1, 10'000, "k");
  ASSERT_TRUE(sandboxes.remove(call, numbered_id(1)).ok());
  const auto found = sandboxes.find_idempotent(call, *idempotency_of(numbered_sandbox(1, "k").spec)).value();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->state, SandboxState::stopped);
  EXPECT_TRUE(found->backend_state.empty());
}

TEST_F(PurgeTest, ALaterEndMovesTheIndex) {
  make_ended(1, 10'000, "k");
  ASSERT_TRUE(sandboxes.save(call, ended(numbered_sandbox(1, "k"), 50'000)).ok());
  EXPECT_EQ(sandboxes.purge(call, 10'000 + kHour).value().sandboxes, 0);
  EXPECT_EQ(sandboxes.purge(call, 50'000 + kHour).value().sandboxes, 1);
  EXPECT_EQ(sandboxes.purge(call, 50'000 + 24 * kHour).value().idempotency_keys, 1);
  EXPECT_EQ(store.size(), 0u);
}

TEST_F(PurgeTest, ADamagedRecordStaysForTheOperator) {
  make_ended(1, 10'000);
  ASSERT_TRUE(store.txn(call, {StateOp::put(keys::sandbox(numbered_id(1)), "{")}).ok());
  ASSERT_TRUE(sandboxes.purge(call, 100 * kHour).ok());
  EXPECT_TRUE(store.get(call, keys::sandbox(numbered_id(1))).value().has_value());
}

TEST_F(PurgeTest, AnInterruptedPurgeLeavesWholeRecordsAndGoesOnLater) {
  for (int i = 1; i <= 90; ++i) make_ended(i, 10'000, "k" + std::to_string(i));
  int transactions = 0;
  store.before_txn = [&](const std::vector<StateOp>&) -> Status {
    return ++transactions == 2 ? Status(make_error(ErrorCode::unavailable, "gone")) : ok_status();
  };
  EXPECT_EQ(sandboxes.purge(call, 2 * kHour).error().code, ErrorCode::unavailable);
  for (int i = 1; i <= 90; ++i) {
    const auto found = sandboxes.find_idempotent(call, *idempotency_of(numbered_sandbox(i, "k" + std::to_string(i)).spec));
    EXPECT_TRUE(found.ok() && found->has_value()) << i;
  }
  EXPECT_GT(sandboxes.purge(call, 2 * kHour).value().sandboxes, 0);
  EXPECT_EQ(sandboxes.load_all(call, [](Sandbox) { return ok_status(); }).value().loaded, 0);
}

}  // namespace
}  // namespace harena
