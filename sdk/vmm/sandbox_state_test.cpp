#include "sdk/vmm/sandbox_state.hpp"

#include <gtest/gtest.h>

namespace harena::vmm {
namespace {

TEST(SandboxState, IsReadAgainAndNothingElse) {
  SandboxState state{.boot = "b", .machine = {7, 8}, .uid = 9, .run_dir = "/r", .state_dir = "/s", .vm_dir = "/fast/x",
      .cpu_millicores = 500};
  auto read = SandboxState::decode(state.encode());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->machine, state.machine);
  EXPECT_EQ(read->vm_dir, "/fast/x");
  EXPECT_EQ(read->cpu_millicores, 500);
  EXPECT_EQ(SandboxState::decode("{}").error().code, ErrorCode::data_loss);
  EXPECT_EQ(SandboxState::decode(R"({"version": 2})").error().code, ErrorCode::failed_precondition);
}

TEST(SandboxState, OneOfAnEarlierReleaseHasItsUsualFolder) {
  const auto read = SandboxState::decode(R"({"version": 1, "boot": "b", "machine": [7, 8], "uid": 9, "run_dir": "/r", "state_dir": "/s"})");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->vm_dir, "/s/vm");
}

}  // namespace
}  // namespace harena::vmm
