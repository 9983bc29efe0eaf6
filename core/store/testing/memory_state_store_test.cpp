#include "core/store/testing/memory_state_store.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace harena {
namespace {

struct MemoryStoreTest : testing::Test {
  MemoryStateStore store;
  CallContext call;
};

TEST_F(MemoryStoreTest, RevisionsGrowByOneAndOnlyWithChanges) {
  EXPECT_EQ(store.revision(), 0);
  EXPECT_EQ(store.txn(call, {StateOp::put("a", "1"), StateOp::put("b", "1")}).value(), 1);
  EXPECT_EQ(store.txn(call, {StateOp::remove("absent")}).value(), 1);
  EXPECT_EQ(store.txn(call, {StateOp::put("a", "2")}).value(), 2);
  EXPECT_EQ(store.get(call, "a").value()->revision, 2);
  EXPECT_EQ(store.get(call, "b").value()->revision, 1);
}

TEST_F(MemoryStoreTest, AFailedCheckChangesNothingAndNamesTheKey) {
  ASSERT_TRUE(store.txn(call, {StateOp::put("a", "1")}).ok());
  const auto refused = store.txn(call, {StateOp::put("b", "1"), StateOp::check("a", 0)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::aborted);
  EXPECT_NE(refused.error().message.find("'a'"), std::string::npos);
  EXPECT_EQ(store.size(), 1u);
}

TEST_F(MemoryStoreTest, LimitsAreThoseOfTheContract) {
  EXPECT_EQ(store.txn(call, {}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(store.txn(call, {StateOp::put("", "")}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(store.txn(call, {StateOp::put(std::string(1025, 'k'), "")}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(store.txn(call, {StateOp::put("k", std::string((1 << 20) + 1, 'v'))}).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(store.txn(call, {StateOp::put("k", "1"), StateOp::remove("k")}).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(store.range(call, "a", "", 0).error().code, ErrorCode::invalid_argument);
}

TEST_F(MemoryStoreTest, RangeIsHalfOpenAndBounded) {
  ASSERT_TRUE(store.txn(call, {StateOp::put("a", ""), StateOp::put("b", ""), StateOp::put("c", "")}).ok());
  EXPECT_EQ(store.range(call, "a", "c", 10).value().size(), 2u);
  EXPECT_EQ(store.range(call, "a", "", 10).value().size(), 3u);
  EXPECT_EQ(store.range(call, "a", "", 2).value().back().key, "b");
}

TEST_F(MemoryStoreTest, WatchSeesEveryChangeInOrderAndNothingTwice) {
  ASSERT_TRUE(store.txn(call, {StateOp::put("x/1", "a")}).ok());
  std::vector<std::string> seen;
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) (void)store.txn({}, {StateOp::put("x/2", std::to_string(i)), StateOp::put("y", "")});
    (void)store.txn({}, {StateOp::remove("x/1")});
  });
  const auto ended = store.watch(call, "x/", 1, [&](const std::string& key, const auto& value, std::int64_t) {
    seen.push_back(value ? *value : "-" + key);
    return value.has_value();
  });
  writer.join();
  EXPECT_EQ(ended.error().code, ErrorCode::cancelled);
  ASSERT_EQ(seen.size(), 51u);
  EXPECT_EQ(seen.front(), "0");
  EXPECT_EQ(seen.back(), "-x/1");
}

TEST_F(MemoryStoreTest, WatchFromForgottenOrFutureRevisionsIsOutOfRange) {
  ASSERT_TRUE(store.txn(call, {StateOp::put("a", "1")}).ok());
  store.compact();
  const auto never = [](const std::string&, const std::optional<std::string>&, std::int64_t) { return false; };
  EXPECT_EQ(store.watch(call, "", 0, never).error().code, ErrorCode::out_of_range);
  EXPECT_EQ(store.watch(call, "", 9, never).error().code, ErrorCode::out_of_range);
}

TEST_F(MemoryStoreTest, AWatchEndsWhenItsCallIsCancelled) {
  CallContext cancelled{.cancel = std::make_shared<std::atomic<bool>>(true)};
  const auto ended = store.watch(cancelled, "", 0, [](const auto&, const auto&, auto) { return true; });
  EXPECT_EQ(ended.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace harena
