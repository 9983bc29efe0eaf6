#include "core/store/project_repository.hpp"

#include <gtest/gtest.h>

#include "core/store/keys.hpp"
#include "core/store/testing/memory_state_store.hpp"

namespace harena {
namespace {

ProjectPath path_of(const std::string& text) { return ProjectPath::parse(text).value(); }

struct ProjectTest : testing::Test {
  void SetUp() override { ASSERT_TRUE(make("root").ok()); }
  Status make(const std::string& path) {
    return projects.create(call, {.path = path_of(path), .created_ms = 5, .created_by = "token:x"});
  }
  MemoryStateStore store;
  ProjectRepository projects{store};
  CallContext call;
};

TEST_F(ProjectTest, ARecordComesBackWhole) {
  ProjectRecord record{path_of("root/a"), 5, "token:x", {3, std::nullopt, 0}};
  ASSERT_TRUE(projects.create(call, record).ok());
  const auto read = projects.get(call, record.path).value();
  EXPECT_EQ(read.path, record.path);
  EXPECT_EQ(read.created_ms, 5);
  EXPECT_EQ(read.created_by, "token:x");
  EXPECT_EQ(read.limits, record.limits);
}

TEST_F(ProjectTest, TwiceIsAlreadyExists) {
  ASSERT_TRUE(make("root/a").ok());
  EXPECT_EQ(make("root/a").error().code, ErrorCode::already_exists);
}

TEST_F(ProjectTest, AMissingParentIsNamed) {
  const auto refused = make("root/a/b");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::not_found);
  EXPECT_NE(refused.error().message.find("'root/a'"), std::string::npos);
}

TEST_F(ProjectTest, RemoveRefusesAParentAndNamesTheChild) {
  ASSERT_TRUE(make("root/a").ok());
  ASSERT_TRUE(make("root/a/b").ok());
  ASSERT_TRUE(make("root/ab").ok());  // not below root/a
  const auto refused = projects.remove(call, path_of("root/a"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
  EXPECT_NE(refused.error().message.find("root/a/b"), std::string::npos);
  EXPECT_TRUE(projects.remove(call, path_of("root/a/b")).ok());
  EXPECT_TRUE(projects.remove(call, path_of("root/a")).ok());
  EXPECT_TRUE(projects.remove(call, path_of("root/a")).ok());
  EXPECT_EQ(projects.remove(call, path_of("root")).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(projects.load_all(call).value().size(), 2u);
}

TEST_F(ProjectTest, AChildMadeWhileItsParentGoesIsNeverOrphaned) {
  ASSERT_TRUE(make("root/a").ok());
  bool raced = false;
  store.before_txn = [&](const std::vector<StateOp>&) -> Status {  // between remove's look and its transaction
    if (std::exchange(raced, true)) return ok_status();
    return make("root/a/b");
  };
  EXPECT_EQ(projects.remove(call, path_of("root/a")).error().code, ErrorCode::aborted);
  EXPECT_TRUE(projects.get(call, path_of("root/a")).ok());

  raced = false;
  store.before_txn = [&](const std::vector<StateOp>&) -> Status {  // and the other way round
    if (std::exchange(raced, true)) return ok_status();
    return projects.remove(call, path_of("root/a/b"));
  };
  EXPECT_EQ(make("root/a/b/c").error().code, ErrorCode::aborted);
}

TEST_F(ProjectTest, LimitsAreReplaced) {
  ASSERT_TRUE(projects.set_limits(call, path_of("root"), {10, 2'000, std::nullopt}).ok());
  EXPECT_EQ(projects.get(call, path_of("root")).value().limits.cpu_milli, 2'000);
  EXPECT_EQ(projects.set_limits(call, path_of("root/x"), {}).error().code, ErrorCode::not_found);
}

TEST_F(ProjectTest, ADamagedRecordIsDataLossNamingItsKey) {
  ASSERT_TRUE(store.txn(call, {StateOp::put(keys::project(path_of("root/d")), "{")}).ok());
  const auto damaged = projects.get(call, path_of("root/d"));
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().code, ErrorCode::data_loss);
  EXPECT_NE(damaged.error().message.find("/v1/projects/root/d"), std::string::npos);
}

}  // namespace
}  // namespace harena
