// resize: each limit of a living sandbox changed, seen from outside and from inside; refusals and deaths in the middle.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "plugins/container/live_change.hpp"
#include "plugins/container/lxcfs.hpp"
#include "plugins/container/tests/container_case.hpp"
#include "sdk/support/cgroup_layout.hpp"
#include "sdk/support/files.hpp"

namespace harena::container::testing {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

class Resize : public ContainerCase {
 protected:
  std::string memory(const std::string& id) { return limit(id, "memory", "memory.limit_in_bytes", "memory.max"); }
  std::string quota(const std::string& id) { return limit(id, "cpu", "cpu.cfs_quota_us", "cpu.max"); }
  std::string of_cpu(int us) { return std::to_string(us) + (hybrid() ? "" : " 100000"); }
};

TEST_F(Resize, CpuMemoryPidsUpAndDown) {
  const json small = {{"cpu", 0.5}, {"memory", "64MiB"}, {"pids", 50}};
  const json large = {{"cpu", 1.5}, {"memory", "256MiB"}, {"pids", 500}, {"cpu_weight", 300}, {"memory_high", "128MiB"}, {"swap", "16MiB"}};
  const std::string id = made(small);
  auto done = backend_->resize(id, small, large);
  ASSERT_EQ(done.status, HARENA_OK) << done.message;
  EXPECT_EQ(quota(id), of_cpu(150000));
  EXPECT_EQ(limit(id, "cpu", "cpu.shares", "cpu.weight"), hybrid() ? "3072" : "300");
  EXPECT_EQ(memory(id), std::to_string(256 * kMiB));
  EXPECT_EQ(limit(id, "memory", "memory.soft_limit_in_bytes", "memory.high"), std::to_string(128 * kMiB));
  EXPECT_EQ(limit(id, "pids", "pids.max", "pids.max"), "501");
  ASSERT_EQ(backend_->resize(id, large, small).status, HARENA_OK);
  EXPECT_EQ(quota(id), of_cpu(50000));
  EXPECT_EQ(memory(id), std::to_string(64 * kMiB));
  EXPECT_NE(limit(id, "memory", "memory.soft_limit_in_bytes", "memory.high"), std::to_string(128 * kMiB));
  EXPECT_EQ(limit(id, "pids", "pids.max", "pids.max"), "51");
  EXPECT_EQ(backend_->shell(id, "echo goes on").output, "goes on\n");
}

TEST_F(Resize, IdleClassComesAndGoes) {
  const std::string id = made();
  ASSERT_EQ(backend_->resize(id, json::object(), {{"cpu_idle", true}}).status, HARENA_OK);
  EXPECT_EQ(limit(id, "cpu", "cpu.idle", "cpu.idle"), "1");
  ASSERT_EQ(backend_->resize(id, {{"cpu_idle", true}}, {{"cpu_weight", 200}, {"cpu", 2}}).status, HARENA_OK);
  EXPECT_EQ(limit(id, "cpu", "cpu.idle", "cpu.idle"), "0");
  EXPECT_EQ(limit(id, "cpu", "cpu.shares", "cpu.weight"), hybrid() ? "2048" : "200");
  EXPECT_EQ(quota(id), of_cpu(200000));
}

/// What runs already, and what begins later, in a sandbox that was made with CPUs and in one that was made without.
TEST_F(Resize, CpusetForWhatRunsAndWhatComes) {
  for (const json& first : {json{{"cpu", 2}}, json{{"cpu", 2}, {"cpuset", "0-1"}}}) {
    const std::string id = made(first);
    const int running = backend_->start(id, {"sh", "-c", "echo $$ >/pid; exec sleep 1000"});
    while (backend_->shell(id, "test -s /pid && echo yes").output.empty()) {
    }
    const std::string cpus = "cat /proc/$(cat /pid)/status | grep Cpus_allowed_list; grep Cpus_allowed_list /proc/self/status";
    auto done = backend_->resize(id, first, {{"cpu", 2}, {"cpuset", "1"}});
    ASSERT_EQ(done.status, HARENA_OK) << done.message;
    EXPECT_EQ(backend_->shell(id, cpus).output, "Cpus_allowed_list:\t1\nCpus_allowed_list:\t1\n");
    EXPECT_EQ(backend_->shell(id, "nproc").output, "1\n");
    ASSERT_EQ(backend_->resize(id, {{"cpu", 2}, {"cpuset", "1"}}, first).status, HARENA_OK);
    EXPECT_EQ(backend_->shell(id, cpus).output.find("list:\t1\n"), std::string::npos);
    EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
    ::close(running);
  }
}

/// `cpu` alone: programs that run already and those that begin later count the CPUs that they may use now.
TEST_F(Resize, NprocFollowsCpu) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one CPU";
  const std::string id = made();
  const int running = backend_->start(id, {"sh", "-c", "echo $$ >/pid; exec sleep 1000"});
  const int narrow = backend_->start(id, {"busybox", "taskset", "1", "sh", "-c", "echo $$ >/narrow; exec sleep 1000"});
  while (backend_->shell(id, "test -s /pid && test -s /narrow && echo yes").output.empty()) {
  }
  const std::string count = "nproc; for p in $(cat /pid) $(cat /narrow); do grep Cpus_allowed_list /proc/$p/status; done";
  const std::string one = backend_->shell(id, count).output;
  EXPECT_EQ(one.substr(0, 2), "1\n") << one;
  ASSERT_EQ(backend_->resize(id, json::object(), {{"cpu", 2}}).status, HARENA_OK);
  const std::string two = backend_->shell(id, count).output;
  EXPECT_EQ(two.substr(0, 2), "2\n") << two;
  EXPECT_NE(two.find("list:\t0-1\n"), std::string::npos) << two;
  EXPECT_TRUE(two.ends_with("list:\t0\n") || two.ends_with("list:\t0-1\n")) << two;
  ASSERT_EQ(backend_->resize(id, {{"cpu", 2}}, {{"cpu", 0.5}}).status, HARENA_OK);
  EXPECT_EQ(backend_->shell(id, count).output.find("0-1"), std::string::npos);
  EXPECT_EQ(backend_->shell(id, "nproc").output, "1\n");
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  ::close(running);
  ::close(narrow);
}

TEST_F(Resize, IoBandwidthOfASandboxMadeWithout) {
  const std::string id = made();
  auto done = backend_->resize(id, json::object(), {{"io_read_bps", "50MiB"}, {"io_write_iops", 200}});
  if (done.status != HARENA_OK) {
    EXPECT_NE(done.message.find("'io_bandwidth'"), std::string::npos) << done.message;
    GTEST_SKIP() << done.message;
  }
  const std::string reads = limit(id, "io", "blkio.throttle.read_bps_device", "io.max");
  EXPECT_NE(reads.find("52428800"), std::string::npos) << reads;
  ASSERT_EQ(backend_->resize(id, {{"io_read_bps", "50MiB"}, {"io_write_iops", 200}}, {{"io_write_iops", 100}}).status, HARENA_OK);
  EXPECT_EQ(limit(id, "io", "blkio.throttle.read_bps_device", "io.max").find("52428800"), std::string::npos);
  const std::string writes = limit(id, "io", "blkio.throttle.write_iops_device", "io.max");
  EXPECT_NE(writes.find("100"), std::string::npos) << writes;
}

TEST_F(Resize, MemoryBelowItsUseIsRefusedAndNothingElseChanges) {
  const json before = {{"memory", "128MiB"}, {"shm", "64MiB"}, {"cpu", 1}};
  const std::string id = made(before);
  ASSERT_EQ(backend_->shell(id, "dd if=/dev/zero of=/dev/shm/held bs=1M count=40 2>/dev/null").exit, 0);
  auto refused = backend_->resize(id, before, {{"memory", "16MiB"}, {"shm", "64MiB"}, {"cpu", 2}, {"pids", 7}});
  EXPECT_EQ(refused.status, HARENA_FAILED_PRECONDITION);
  EXPECT_EQ(refused.cause, HARENA_CAUSE_LIMIT);
  EXPECT_EQ(refused.cause_detail, "memory");
  EXPECT_NE(refused.message.find("16777216"), std::string::npos) << refused.message;
  EXPECT_NE(refused.message.find("in use"), std::string::npos) << refused.message;
  EXPECT_EQ(memory(id), std::to_string(128 * kMiB));
  EXPECT_EQ(quota(id), of_cpu(100000));
  EXPECT_EQ(backend_->usage(id).result.value("oom_kills", -1), 0);
  EXPECT_EQ(backend_->shell(id, "wc -c </dev/shm/held").output, std::to_string(40 * kMiB) + "\n");
}

/// What can be taken back, is: the caches of files that were read or written don't keep memory from becoming less.
TEST_F(Resize, CachesAreTakenBack) {
  const json before = {{"memory", "128MiB"}};
  const std::string id = made(before);
  backend_->shell(id, "dd if=/dev/zero of=/cached bs=1M count=60 2>/dev/null; sync; cat /cached >/dev/null");
  auto done = backend_->resize(id, before, {{"memory", "24MiB"}});
  EXPECT_EQ(done.status, HARENA_OK) << done.message;
  EXPECT_EQ(backend_->usage(id).result.value("oom_kills", -1), 0);
}

TEST_F(Resize, OfAPausedSandboxWhichStaysPaused) {
  const std::string id = made();
  ASSERT_EQ(backend_->pause(id).status, HARENA_OK);
  ASSERT_EQ(backend_->resize(id, json::object(), {{"memory", "256MiB"}, {"cpuset", "0"}}).status, HARENA_OK);
  EXPECT_EQ(memory(id), std::to_string(256 * kMiB));
  EXPECT_EQ(backend_->recover(id, last_["state"]).result["status"], "paused");
  ASSERT_EQ(backend_->resume(id).status, HARENA_OK);
  EXPECT_EQ(backend_->shell(id, "grep Cpus_allowed_list /proc/self/status").output, "Cpus_allowed_list:\t0\n");
}

TEST_F(Resize, WhatCannotChangeIsNamed) {
  const std::string id = made();
  const json fixed = {{"shm", "1MiB"}, {"hostname", "x"}, {"env", {{"A", "b"}}}, {"open_files", 99}, {"tmpfs", {{"/t", 4096}}}};
  for (const auto& [name, value] : fixed.items()) {
    auto refused = backend_->resize(id, json::object(), {{name, value}});
    EXPECT_EQ(refused.status, HARENA_INVALID_ARGUMENT);
    EXPECT_NE(refused.message.find("'" + name + "'"), std::string::npos) << refused.message;
  }
  EXPECT_EQ(backend_->resize(id, json::object(), {{"cpuset", "4097"}}).status, HARENA_INVALID_ARGUMENT);
  auto none = backend_->resize(id, json::object(), {{"disk", "64MiB"}});
  EXPECT_EQ(none.status, HARENA_INVALID_ARGUMENT);
  EXPECT_NE(none.message.find("'disk'"), std::string::npos) << none.message;
  EXPECT_EQ(backend_->resize(new_id(), json::object(), {{"cpu", 2}}).status, HARENA_NOT_FOUND);
}

TEST_F(Resize, AfterARestartAndThroughStop) {
  const std::string id = made();
  const std::string state = last_["state"];
  backend_->restart();
  ASSERT_EQ(backend_->recover(id, state).result["status"], "running");
  ASSERT_EQ(backend_->resize(id, json::object(), {{"memory", "32MiB"}, {"cpuset", "0"}}).status, HARENA_OK);
  EXPECT_EQ(memory(id), std::to_string(32 * kMiB));
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  EXPECT_EQ(memory(id), "");
}

TEST_F(Resize, LxcfsShowsTheNewLimits) {
  if (find_lxcfs().files.empty()) GTEST_SKIP() << "lxcfs doesn't run here";
  const std::string id = made({{"memory", "64MiB"}});
  ASSERT_EQ(backend_->resize(id, {{"memory", "64MiB"}}, {{"memory", "96MiB"}}).status, HARENA_OK);
  EXPECT_EQ(backend_->shell(id, "grep MemTotal /proc/meminfo").output, "MemTotal:          98304 kB\n");
}

TEST_F(Resize, DiskGrowsWhereTheKernelLetsIt) {
  const json before = {{"disk", "64MiB"}};
  const std::string id = made(before);
  ASSERT_EQ(backend_->shell(id, "echo kept > /kept").exit, 0);
  auto done = backend_->resize(id, before, {{"disk", "300MiB"}, {"memory", "256MiB"}});
  const std::int64_t kib = std::atoll(backend_->shell(id, "df -k / | tail -n 1 | { read a total b; echo $total; }").output.c_str());
  EXPECT_EQ(backend_->shell(id, "cat /kept").output, "kept\n");
  if (done.status != HARENA_OK) {
    EXPECT_NE(done.message.find("CAP_SYS_RESOURCE"), std::string::npos) << done.message;
    EXPECT_LT(kib, 66 * 1024);
    EXPECT_EQ(memory(id), std::to_string(1024 * kMiB)) << "all or nothing";
    EXPECT_EQ(backend_->resize(id, {{"disk", "300MiB"}}, before).status, HARENA_OK) << "it has no more than that";
    EXPECT_EQ(backend_->shell(id, "dd if=/dev/zero of=/f bs=1M count=20 2>/dev/null && rm /f && echo good").output, "good\n");
    GTEST_SKIP() << done.message;
  }
  EXPECT_GE(kib, 300 * 1024 * 99 / 100);
  EXPECT_LE(kib, 300 * 1024 * 102 / 100);
  EXPECT_EQ(backend_->shell(id, "dd if=/dev/zero of=/f bs=1M count=200 2>/dev/null && echo good").output, "good\n");
  EXPECT_EQ(backend_->resize(id, {{"disk", "300MiB"}}, {{"disk", "100MiB"}}).status, HARENA_INVALID_ARGUMENT);
}

/// The process dies after each step in turn. The next one is told the same, or the way back.
TEST_F(Resize, DeathInTheMiddleLeavesWhatTheNextOneSays) {
  const json before = {{"memory", "64MiB"}, {"pids", 50}, {"cpu", 1}};
  const json after = {{"memory", "128MiB"}, {"pids", 60}, {"cpu", 2}, {"cpuset", "0"}};
  for (const char* step : {"resize.memory", "resize.cpuset", "resize.pids", "resize.cpu", "resize.cgroups"}) {
    for (const bool onward : {true, false}) {
      const std::string id = made(before);
      const std::string state = last_["state"];
      const pid_t child = ::fork();
      if (child == 0) {
        ::setenv("HARENA_FAULT", step, 1);
        (void)backend_->resize(id, before, after);
        ::_exit(0);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      ASSERT_TRUE(WIFSIGNALED(status)) << step << ": is this a build with HARENA_FAULTS?";
      auto next = onward ? backend_->resize(id, before, after) : backend_->resize(id, after, before);
      ASSERT_EQ(next.status, HARENA_OK) << step << next.message;
      EXPECT_EQ(memory(id), std::to_string((onward ? 128 : 64) * kMiB)) << step;
      EXPECT_EQ(quota(id), of_cpu(onward ? 200000 : 100000)) << step;
      EXPECT_EQ(limit(id, "pids", "pids.max", "pids.max"), onward ? "61" : "51") << step;
      // It may stand still: its record says that it ran, and the core lets it go on.
      ASSERT_EQ(backend_->resume(id).status, HARENA_OK);
      EXPECT_EQ(backend_->shell(id, "echo alive").output, "alive\n") << step;
      EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
    }
  }
}

}  // namespace
}  // namespace harena::container::testing
