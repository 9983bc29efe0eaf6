// On trees of plain files: what is written where, and in which order is proved by what a file may hold.

#include "sdk/support/cgroup_resize.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sdk/base/unique_fd.hpp"
#include "sdk/support/files.hpp"

namespace harena {
namespace {

namespace fs = std::filesystem;

class FakeGroup : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "harena-resize-XXXXXX").string();
    above_ = ::mkdtemp(name.data());
    fs::create_directory(above_ / "box");
    group_ = open_directory(AT_FDCWD, (above_ / "box").string()).value();
    before_.memory_bytes = 64 << 20;
    before_.pids = 10;
    after_ = before_;
  }
  void TearDown() override { fs::remove_all(above_); }
  void file(const std::string& name, const std::string& text = "") { std::ofstream(above_ / "box" / name) << text; }
  std::string text(const std::string& name) { return read_file_at(group_.get(), name).value_or("(none)").c_str(); }

  fs::path above_;
  UniqueFd group_;
  CgroupLimits before_, after_;
};

TEST_F(FakeGroup, OnlyWhatDiffersIsAStep) {
  after_.cpu_idle = true;
  std::vector<std::string> steps;
  for (const auto& step : resize_steps()) {
    if (step_changes(step, before_, after_)) steps.push_back(step);
  }
  EXPECT_EQ(steps, (std::vector<std::string>{"cpu_idle", "cpu"}));
  EXPECT_FALSE(step_changes("memory", before_, after_));
  after_.swap_bytes = 1;
  EXPECT_TRUE(step_changes("memory", before_, after_));
}

TEST_F(FakeGroup, V2TakesLimitsAwayAgain) {
  for (const char* name : {"memory.high", "cpuset.cpus", "cpu.idle", "io.max", "io.weight"}) file(name);
  std::ofstream(above_ / "cpuset.cpus.effective") << "0-3\n";
  before_.io.major = 8;
  before_.io.read_bps = 4096;
  for (const char* step : {"memory_high", "cpuset", "cpu_idle", "io_weight", "io_bandwidth"}) {
    EXPECT_TRUE(change_v2_limit(step, group_.get(), before_, after_).ok()) << step;
  }
  EXPECT_EQ(text("memory.high"), "max");
  EXPECT_EQ(text("cpuset.cpus"), "0-3\n");
  EXPECT_EQ(text("cpu.idle"), "0");
  EXPECT_EQ(text("io.weight"), "default 100");
  EXPECT_EQ(text("io.max"), "8:0 rbps=max wbps=max riops=max wiops=max");
}

TEST_F(FakeGroup, V2NeverSetsMemoryBelowItsUse) {
  file("memory.max", "67108864");
  file("memory.high", "max");
  file("memory.current", "50000000");
  after_.memory_bytes = 40'000'000;
  const auto refused = change_v2_limit("memory", group_.get(), before_, after_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
  EXPECT_EQ(refused.error().cause, Cause::limit);
  EXPECT_NE(refused.error().message.find("50000000"), std::string::npos) << refused.error().message;
  EXPECT_EQ(text("memory.max"), "67108864");
  EXPECT_EQ(text("memory.high").substr(0, 3), "max");
  after_.memory_bytes = 50'000'000;
  EXPECT_TRUE(change_v2_limit("memory", group_.get(), before_, after_).ok());
  EXPECT_EQ(text("memory.max"), "50000000");
}

TEST_F(FakeGroup, V1TakesLimitsAwayAgain) {
  for (const char* name : {"memory.soft_limit_in_bytes", "cpuset.cpus", "cpu.idle", "blkio.bfq.weight"}) file(name);
  for (const char* name : {"read_bps", "write_bps", "read_iops", "write_iops"}) file(std::string("blkio.throttle.") + name + "_device");
  std::ofstream(above_ / "cpuset.cpus") << "0-3\n";
  before_.io.major = 8;
  before_.io.minor = 1;
  before_.io.write_iops = 7;
  for (const char* step : {"memory_high", "cpuset", "cpu_idle", "io_weight", "io_bandwidth"}) {
    EXPECT_TRUE(change_v1_limit(step, group_.get(), before_, after_).ok()) << step;
  }
  EXPECT_EQ(text("memory.soft_limit_in_bytes"), "-1");
  EXPECT_EQ(text("cpuset.cpus"), "0-3\n");
  EXPECT_EQ(text("cpu.idle"), "0");
  EXPECT_EQ(text("blkio.bfq.weight"), "100");
  EXPECT_EQ(text("blkio.throttle.write_iops_device"), "8:1 0");
}

TEST_F(FakeGroup, V1MemoryAndSwapTogether) {
  file("memory.memsw.limit_in_bytes", "67108864");
  file("memory.limit_in_bytes", "67108864");
  after_.memory_bytes = 128 << 20;
  after_.swap_bytes = 1 << 20;
  EXPECT_TRUE(change_v1_limit("memory", group_.get(), before_, after_).ok());
  EXPECT_EQ(text("memory.limit_in_bytes"), "134217728");
  EXPECT_EQ(text("memory.memsw.limit_in_bytes"), "135266304");
}

TEST_F(FakeGroup, AnIdleGroupGetsNoWeight) {
  for (const char* name : {"cpu.max", "cpu.weight"}) file(name, "?");
  after_.cpu_idle = true;
  EXPECT_TRUE(change_v2_limit("cpu", group_.get(), before_, after_).ok());
  EXPECT_EQ(text("cpu.weight"), "?");
  after_.cpu_idle = false;
  after_.cpu_weight = 300;
  EXPECT_TRUE(change_v2_limit("cpu", group_.get(), before_, after_).ok());
  EXPECT_EQ(text("cpu.weight"), "300");
}

}  // namespace
}  // namespace harena
