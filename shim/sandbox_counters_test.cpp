#include "shim/sandbox_counters.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace harena::shim {
namespace {

TEST(FlatValue, KeysAreWholeLines) {
  EXPECT_EQ(flat_value("oom 3\noom_kill 2\n", "oom_kill"), 2u);
  EXPECT_EQ(flat_value("oom_kill 2\noom 3\n", "oom"), 3u);
  EXPECT_EQ(flat_value("under_oom 1\noom 4", "oom"), 4u);
  EXPECT_EQ(flat_value("oom_kill_disable 0\n", "oom_kill"), 0u);
  EXPECT_EQ(flat_value("", "oom"), 0u);
}

class Counters : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/harena-counters-XXXXXX";
    folder = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void put(const std::string& name, const std::string& text) { std::ofstream(folder + "/" + name) << text; }
  SandboxCounters open() {
    SandboxCounters counters;
    UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    counters.add_group(fd.get());
    return counters;
  }
  std::string folder;
};

TEST_F(Counters, Unified) {
  put("memory.events", "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\n");
  put("pids.events", "max 7\n");
  put("pids.current", "10\n");
  put("pids.max", "10\n");
  auto counters = open();
  EXPECT_EQ(counters.oom_kills(), 3u);
  EXPECT_EQ(counters.memory_limit_hits(), 4u);
  EXPECT_EQ(counters.forks_refused(), 7u);
  EXPECT_TRUE(counters.pids_full());
  EXPECT_FALSE(counters.pids_exceeded());
}

TEST_F(Counters, VersionOne) {
  put("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  put("memory.failcnt", "12\n");
  put("memory.memsw.max_usage_in_bytes", "67000000\n");
  put("memory.memsw.limit_in_bytes", "67108864\n");
  put("pids.current", "11\n");
  put("pids.max", "10\n");
  auto counters = open();
  EXPECT_EQ(counters.oom_kills(), 2u);
  EXPECT_EQ(counters.memory_limit_hits(), 12u);
  EXPECT_TRUE(counters.swap_limit_was_reached());
  put("memory.memsw.limit_in_bytes", "134217728\n");
  EXPECT_FALSE(counters.swap_limit_was_reached());
  EXPECT_TRUE(counters.pids_exceeded());
  put("pids.max", "max\n");
  EXPECT_FALSE(counters.pids_full());
}

TEST_F(Counters, AGroupWithoutControllersCountsNothing) {
  auto counters = open();
  EXPECT_EQ(counters.oom_kills() + counters.memory_limit_hits() + counters.forks_refused(), 0u);
  EXPECT_FALSE(counters.pids_full());
  EXPECT_TRUE(counters.descriptors().empty());
}

}  // namespace
}  // namespace harena::shim
