#include "plugins/e2b/envd/recent_sandboxes.hpp"

#include <gtest/gtest.h>

namespace harena::e2b {
namespace {

SandboxAccess sandbox(const std::string& id, const std::string& state) {
  SandboxAccess access;
  access.id = id;
  access.state = state;
  access.credential = "of " + id;
  return access;
}

TEST(RecentSandboxes, AreKeptForAMoment) {
  ManualClock clock;
  RecentSandboxes recent(clock);
  EXPECT_FALSE(recent.find("a"));
  recent.keep(sandbox("a", "running"));
  ASSERT_TRUE(recent.find("a"));
  EXPECT_EQ(recent.find("a")->credential, "of a");
  clock.advance_ms(RecentSandboxes::kFreshMs + 1);
  EXPECT_FALSE(recent.find("a"));
}

TEST(RecentSandboxes, OnlyOfThoseThatRun) {
  ManualClock clock;
  RecentSandboxes recent(clock);
  for (const auto* state : {"paused", "pausing", "resuming", "creating"}) recent.keep(sandbox(state, state));
  for (const auto* state : {"paused", "pausing", "resuming", "creating"}) EXPECT_FALSE(recent.find(state)) << state;
}

TEST(RecentSandboxes, AreForgottenAndBounded) {
  ManualClock clock;
  RecentSandboxes recent(clock);
  recent.keep(sandbox("a", "running"));
  recent.forget("a");
  EXPECT_FALSE(recent.find("a"));
  for (std::size_t i = 0; i <= RecentSandboxes::kMaxKept; ++i) recent.keep(sandbox(std::to_string(i), "running"));
  EXPECT_TRUE(recent.find(std::to_string(RecentSandboxes::kMaxKept)));
  EXPECT_FALSE(recent.find("0"));
}

}  // namespace
}  // namespace harena::e2b
