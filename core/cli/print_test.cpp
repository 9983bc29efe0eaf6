#include "core/cli/print.hpp"

#include <gtest/gtest.h>

#include "core/cli/exit_code.hpp"
#include "core/cli/program.hpp"

namespace harena::cli {
namespace {

TEST(PrintTest, SizesAndAges) {
  EXPECT_EQ(human_size(0), "0 B");
  EXPECT_EQ(human_size(1536), "1.5 KiB");
  EXPECT_EQ(human_size(std::int64_t{5} << 40), "5.0 TiB");
  EXPECT_EQ(age(0, 5'000), "5s");
  EXPECT_EQ(age(0, 600'000), "10m");
  EXPECT_EQ(age(10, 0), "0s");
}

TEST(ExitCodeTest, TheCommandsOwnElseTheReason) {
  using client::ExitStatus;
  EXPECT_EQ(exit_code_of(ExitStatus{.code = 7, .cause = "exit"}), 7);
  EXPECT_EQ(exit_code_of(ExitStatus{.signal = "KILL", .cause = "signal"}), 137);
  EXPECT_EQ(exit_code_of(ExitStatus{.signal = "KILL", .cause = "oom"}), 137);
  EXPECT_EQ(exit_code_of(ExitStatus{.signal = "KILL", .cause = "timeout"}), kExitTimeout);
  EXPECT_EQ(exit_code_of(ExitStatus{.signal = "KILL", .cause = "sandbox_stopped"}), kExitPlatform);
  auto error = make_error(ErrorCode::not_found, "x");
  EXPECT_EQ(exit_code_of(error), kExitPlatform);
  error.cause_detail = "no_such_program";
  EXPECT_EQ(exit_code_of(error), kExitNoSuchProgram);
}

}  // namespace
}  // namespace harena::cli
