#include "core/store/meta_repository.hpp"

#include <gtest/gtest.h>

#include "core/store/keys.hpp"
#include "core/store/testing/memory_state_store.hpp"
#include "sdk/base/ids.hpp"

namespace harena {
namespace {

struct MetaTest : testing::Test {
  MemoryStateStore store;
  MetaRepository meta{store};
  SeededRandom random{7};
  CallContext call;
};

TEST_F(MetaTest, ANewStoreGetsOurSchemaVersion) {
  EXPECT_TRUE(meta.check_schema(call).ok());
  EXPECT_TRUE(meta.check_schema(call).ok());
}

TEST_F(MetaTest, AnotherSchemaVersionIsRefusedNamingBoth) {
  ASSERT_TRUE(store.txn(call, {StateOp::put(keys::meta("schema-version"), "9")}).ok());
  const auto refused = meta.check_schema(call);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
  EXPECT_NE(refused.error().message.find("version 9"), std::string::npos);
  EXPECT_NE(refused.error().message.find("version 1"), std::string::npos);
}

TEST_F(MetaTest, TheEdgeCodeIsMadeOnce) {
  const auto first = meta.edge_code(call, "", random).value();
  EXPECT_TRUE(is_edge_code(first));
  EXPECT_EQ(meta.edge_code(call, "", random).value(), first);
  EXPECT_EQ(meta.edge_code(call, first, random).value(), first);
}

TEST_F(MetaTest, AConfiguredEdgeCodeIsKept) {
  EXPECT_EQ(meta.edge_code(call, "tst01", random).value(), "tst01");
  EXPECT_EQ(meta.edge_code(call, "", random).value(), "tst01");
  EXPECT_EQ(meta.edge_code(call, "other", random).error().code, ErrorCode::failed_precondition);
}

TEST_F(MetaTest, ABadEdgeCodeIsRefused) {
  for (const char* bad : {"abc", "ABCDE", "abcdef", "ab-de"}) {
    const auto refused = meta.edge_code(call, bad, random);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(store.size(), 0u);
}

TEST_F(MetaTest, TheOneWhoComesSecondGetsTheFirstOnesValue) {
  bool raced = false;
  store.before_txn = [&](const std::vector<StateOp>&) -> Status {
    if (raced) return ok_status();
    raced = true;
    return store.txn(call, {StateOp::put(keys::meta("instance-id"), "theirs")}).ok()
               ? ok_status()
               : Status(make_error(ErrorCode::internal, "test"));
  };
  EXPECT_EQ(meta.instance_id(call, random).value(), "theirs");
}

}  // namespace
}  // namespace harena
