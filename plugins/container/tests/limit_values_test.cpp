// Every limit, seen from outside (the files of the cgroups) and from inside.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <thread>

#include "plugins/container/lxcfs.hpp"
#include "plugins/container/tests/container_case.hpp"
#include "sdk/base/text.hpp"
#include "sdk/support/cgroup_layout.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"

namespace harena::container::testing {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMiB = 1 << 20;

class LimitValues : public ContainerCase {
 protected:
  std::int64_t number_in(const std::string& id, const std::string& command) {
    return std::atoll(backend_->shell(id, command).output.c_str());
  }
};

TEST_F(LimitValues, Cpu) {
  const std::string id = made({{"cpu", 0.5}, {"cpu_weight", 50}});
  EXPECT_EQ(limit(id, "cpu", "cpu.cfs_quota_us", "cpu.max"), hybrid() ? "50000" : "50000 100000");
  EXPECT_EQ(limit(id, "cpu", "cpu.shares", "cpu.weight"), hybrid() ? "512" : "50");
  EXPECT_EQ(limit(id, "cpu", "cpu.idle", "cpu.idle"), "0");
}

TEST_F(LimitValues, WhoMayUseLessWeighsLess) {
  EXPECT_EQ(limit(made({{"cpu", 0.25}}), "cpu", "cpu.shares", "cpu.weight"), hybrid() ? "256" : "25");
  EXPECT_EQ(limit(made({{"cpu", 2}}), "cpu", "cpu.shares", "cpu.weight"), hybrid() ? "2048" : "200");
  EXPECT_EQ(limit(made({{"cpu", 0.01}}), "cpu", "cpu.shares", "cpu.weight"), hybrid() ? "10" : "1");
}

TEST_F(LimitValues, CpuIdle) {
  const std::string id = made({{"cpu_idle", true}});
  EXPECT_EQ(limit(id, "cpu", "cpu.idle", "cpu.idle"), "1");
  auto both = backend_->create(new_id(), {{"cpu_idle", true}, {"cpu_weight", 3}});
  EXPECT_EQ(both.status, HARENA_INVALID_ARGUMENT);
  EXPECT_NE(both.message.find("cpu_weight"), std::string::npos) << both.message;
}

TEST_F(LimitValues, Cpuset) {
  const std::string id = made({{"cpuset", "0"}});
  EXPECT_EQ(limit(id, "cpuset", "cpuset.cpus", "cpuset.cpus"), "0");
  EXPECT_EQ(backend_->shell(id, "grep Cpus_allowed_list /proc/self/status").output, "Cpus_allowed_list:\t0\n");
  EXPECT_EQ(backend_->shell(id, "nproc").output, "1\n");
}

/// Without lxcfs and without a cpuset: what programs ask the kernel, they hear from the limit.
TEST_F(LimitValues, NprocShowsCpu) {
  const auto here = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  EXPECT_EQ(number_in(made(), "nproc"), 1);
  EXPECT_EQ(number_in(made({{"cpu", 0.1}}), "nproc"), 1);
  EXPECT_EQ(number_in(made({{"cpu", 1.2}}), "nproc"), std::min<std::int64_t>(2, here));
  EXPECT_EQ(number_in(made({{"cpu", 512}}), "nproc"), here);
  EXPECT_EQ(number_in(made({{"cpu", 512}, {"cpuset", "0"}}), "nproc"), 1);
  // A place and no limit: who wants another CPU takes it.
  const std::string id = made();
  EXPECT_EQ(number_in(id, "busybox taskset ffffffff nproc"), here);
}

/// What is read from files: glibc's sysconf and Python's os.cpu_count() do. With lxcfs and without.
TEST_F(LimitValues, FilesShowCpuToo) {
  const auto here = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  const std::string show = "grep -c ^processor /proc/cpuinfo; cat /sys/devices/system/cpu/online /sys/devices/system/cpu/possible";
  const std::string id = made();
  EXPECT_EQ(backend_->shell(id, show).output, "1\n0\n0\n");
  EXPECT_EQ(number_in(made({{"cpu", 512}}), "grep -c ^processor /proc/cpuinfo"), here);
  const std::string attack = "for f in /proc/cpuinfo /sys/devices/system/cpu/online; do echo 9 2>/dev/null > $f && echo written; "
                             "chmod 666 $f 2>/dev/null && echo changed; rm $f 2>/dev/null && echo gone; done; stat -c %u /proc/cpuinfo";
  EXPECT_EQ(backend_->shell(id, attack).output, "65534\n");
  if (here < 2) return;
  ASSERT_EQ(backend_->resize(id, json::object(), {{"cpu", 2}}).status, HARENA_OK);
  EXPECT_EQ(backend_->shell(id, show).output, "2\n0-1\n0-1\n");
  ASSERT_EQ(backend_->resize(id, {{"cpu", 2}}, {{"cpu", 2}, {"cpuset", "1"}}).status, HARENA_OK);
  EXPECT_EQ(backend_->shell(id, show).output, "1\n0\n0\n");
}

TEST_F(LimitValues, NobodySharesACpuWhileThereIsEnough) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one CPU";
  const auto cpu_of = [&](const std::string& id) { return backend_->shell(id, "grep Cpus_allowed_list /proc/self/status").output; };
  const std::string first = made(), second = made();
  EXPECT_NE(cpu_of(first), cpu_of(second));
  const std::string place = cpu_of(first);
  EXPECT_EQ(backend_->stop(first).status, HARENA_OK);
  EXPECT_EQ(cpu_of(made()), place);
}

TEST_F(LimitValues, PlacesCanBeSwitchedOff) {
  Backend without(json{{"cpu_places", "off"}});
  const std::string id = new_id();
  ASSERT_EQ(without.create(id).status, HARENA_OK);
  EXPECT_EQ(without.shell(id, "nproc").output, std::to_string(std::thread::hardware_concurrency()) + "\n");
  EXPECT_EQ(without.stop(id).status, HARENA_OK);
}

/// After a restart the places of those that live are known, so that the next one gets another.
TEST_F(LimitValues, PlacesAreFoundAgain) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one CPU";
  const std::string first = made();
  const std::string state = last_["state"];
  const std::string where = "grep Cpus_allowed_list /proc/self/status";
  const std::string place = backend_->shell(first, where).output;
  backend_->restart();
  ASSERT_EQ(backend_->recover(first, state).result["status"], "running");
  EXPECT_EQ(backend_->shell(first, where).output, place);
  EXPECT_NE(backend_->shell(made(), where).output, place);
}

TEST_F(LimitValues, CpusetOfCpusThatAreNotThere) {
  auto refused = backend_->create(new_id(), {{"cpuset", "0,4097"}});
  EXPECT_EQ(refused.status, HARENA_INVALID_ARGUMENT);
  EXPECT_NE(refused.message.find("no CPU 4097"), std::string::npos) << refused.message;
  EXPECT_EQ(backend_->create(new_id(), {{"cpuset", "1-0"}}).status, HARENA_INVALID_ARGUMENT);
  EXPECT_EQ(backend_->create(new_id(), {{"cpuset", ""}}).status, HARENA_INVALID_ARGUMENT);
}

TEST_F(LimitValues, MemoryHighAndSwap) {
  const std::string id = made({{"memory", "64MiB"}, {"memory_high", "32MiB"}, {"swap", "16MiB"}});
  EXPECT_EQ(limit(id, "memory", "memory.limit_in_bytes", "memory.max"), std::to_string(64 * kMiB));
  EXPECT_EQ(limit(id, "memory", "memory.soft_limit_in_bytes", "memory.high"), std::to_string(32 * kMiB));
  const std::string swap = limit(id, "memory", "memory.memsw.limit_in_bytes", "memory.swap.max");
  if (!swap.empty()) {
    EXPECT_EQ(swap, std::to_string((hybrid() ? 80 : 16) * kMiB));
  }
  auto refused = backend_->create(new_id(), {{"memory", "64MiB"}, {"memory_high", "65MiB"}});
  EXPECT_EQ(refused.status, HARENA_INVALID_ARGUMENT);
}

TEST_F(LimitValues, OpenFilesCoreAndFileSize) {
  const std::string id = made({{"open_files", 100}, {"file_size", "64KiB"}});
  EXPECT_EQ(backend_->shell(id, "ulimit -n; ulimit -Hn; ulimit -c").output, "100\n100\n0\n");
  auto result = backend_->shell(id, "dd if=/dev/zero of=/f bs=1k count=100 2>/dev/null; stat -c %s /f");
  EXPECT_EQ(result.output, "65536\n");
  EXPECT_EQ(backend_->shell(made({{"core_size", "1MiB"}}), "ulimit -c").output, "2048\n");
  rlimit own{};
  ::getrlimit(RLIMIT_NOFILE, &own);
  // Without the right to raise limits the daemon can give what it has.
  const std::int64_t files = number_in(made(), "ulimit -n");
  EXPECT_TRUE(files == 65536 || (files < 65536 && files == static_cast<std::int64_t>(own.rlim_max))) << files;
  auto more = backend_->create(new_id(), {{"open_files", 1 << 20}});
  EXPECT_TRUE(more.status == HARENA_OK || more.message.find("'open_files'") != std::string::npos) << more.message;
}

/// KiB of the root file system, as df shows them inside.
TEST_F(LimitValues, DiskIsOfTheSizeAndFullIsNoSpace) {
  const std::string id = made({{"disk", "64MiB"}, {"memory", "32MiB"}});
  const std::int64_t kib = number_in(id, "df -k / | tail -n 1 | { read a total b; echo $total; }");
  EXPECT_GE(kib, 64 * 1024);
  EXPECT_LE(kib, 64 * 1024 * 101 / 100);
  auto full = backend_->shell(id, "dd if=/dev/zero of=/fill bs=1M count=200; echo exit $?");
  EXPECT_NE(full.output.find("No space left on device"), std::string::npos) << full.output;
  EXPECT_NE(full.output.find("exit 1"), std::string::npos) << full.output;
  EXPECT_EQ(backend_->usage(id).result.value("oom_kills", -1), 0);
  EXPECT_EQ(backend_->shell(id, "rm /fill; echo again > /f && cat /f").output, "again\n");
}

TEST_F(LimitValues, InodesRunOut) {
  const std::string id = made({{"disk", "32MiB"}, {"inodes", 300}});
  auto result = backend_->shell(id, "mkdir /d; i=0; while [ $i -lt 400 ]; do echo > /d/$i || break; i=$((i+1)); done; echo made $i");
  EXPECT_NE(result.output.find("No space left on device"), std::string::npos) << result.output;
  const std::int64_t made_files = std::atoll(result.output.c_str() + result.output.rfind("made ") + 5);
  EXPECT_GE(made_files, 256);
  EXPECT_LT(made_files, 320);
  EXPECT_EQ(backend_->create(new_id(), {{"inodes", 300}}).status, HARENA_INVALID_ARGUMENT);
}

std::size_t loops_in_use() {
  std::size_t count = 0;
  const auto names = list_directory(AT_FDCWD, "/sys/block").value();
  for (const auto& name : names) {
    if (name.starts_with("loop") && ::access(("/sys/block/" + name + "/loop").c_str(), F_OK) == 0) ++count;
  }
  return count;
}

TEST_F(LimitValues, DiskLeavesNoLoopDevice) {
  // Before Linux 6.12 the image's layer lies on one, too, which stays as long as the layer is mounted: it is there first.
  const std::string first = made();
  EXPECT_EQ(backend_->stop(first).status, HARENA_OK);
  const std::size_t before = loops_in_use();
  for (int i = 0; i < 3; ++i) {
    const std::string id = made({{"disk", "16MiB"}});
    backend_->shell(id, "dd if=/dev/zero of=/f bs=1M count=4 2>/dev/null");
    EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  }
  // The kernel lets go of them in a worker of its own.
  const std::int64_t deadline = monotonic_now_ns() + 20 * kSecond;
  while (loops_in_use() > before && monotonic_now_ns() < deadline) ::usleep(10'000);
  EXPECT_LE(loops_in_use(), before);
}

TEST_F(LimitValues, IoBandwidth) {
  const std::string id = new_id();
  auto outcome = backend_->create(id, {{"io_read_bps", "50MiB"}, {"io_write_iops", 200}});
  if (outcome.status != HARENA_OK) {
    // Right where the state folder is on no disk, or the kernel can't; then with the limit's name.
    EXPECT_NE(outcome.message.find("'io_bandwidth'"), std::string::npos) << outcome.message;
    GTEST_SKIP() << outcome.message;
  }
  if (hybrid()) {
    EXPECT_TRUE(limit(id, "io", "blkio.throttle.read_bps_device", "").ends_with(" 52428800"));
    EXPECT_TRUE(limit(id, "io", "blkio.throttle.write_iops_device", "").ends_with(" 200"));
    EXPECT_EQ(limit(id, "io", "blkio.throttle.write_bps_device", ""), "");
  } else {
    EXPECT_TRUE(limit(id, "io", "", "io.max").ends_with("rbps=52428800 wbps=max riops=max wiops=200"));
  }
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
}

TEST_F(LimitValues, WeightOfIoFailsByNameUnlessAllowed) {
  const std::string id = new_id();
  auto outcome = backend_->create(id, {{"io_weight", 200}});
  if (outcome.status == HARENA_OK) {
    EXPECT_NE(limit(id, "io", "blkio.bfq.weight", "io.weight").find("200"), std::string::npos);
    return;
  }
  EXPECT_NE(outcome.message.find("the limit 'io_weight' can't be set on this host: "), std::string::npos) << outcome.message;
  EXPECT_EQ(outcome.status, HARENA_FAILED_PRECONDITION);
  Backend allowing(json{{"allow_missing_limits", json::array({"io_weight"})}});
  auto made = allowing.create(id, {{"io_weight", 200}});
  ASSERT_EQ(made.status, HARENA_OK) << made.message;
  EXPECT_EQ(made.result["details"]["missing_limits"], json::array({"io_weight"}));
}

TEST_F(LimitValues, TmpfsIsSizedAndCharged) {
  const std::string id = made({{"memory", "64MiB"}, {"tmpfs", {{"/tmp", "8MiB"}}}, {"shm", "4MiB"}});
  auto full = backend_->shell(id, "dd if=/dev/zero of=/tmp/f bs=1M count=20 2>&1; dd if=/dev/zero of=/dev/shm/f bs=1M count=20 2>&1; stat -c %s /tmp/f /dev/shm/f");
  EXPECT_NE(full.output.find("No space left on device"), std::string::npos) << full.output;
  EXPECT_TRUE(full.output.ends_with("8388608\n4194304\n")) << full.output;
  EXPECT_GE(backend_->usage(id).result.value("memory_bytes", std::int64_t{0}), 12 * kMiB);
  EXPECT_EQ(backend_->usage(id).result.value("oom_kills", -1), 0);
}

TEST_F(LimitValues, LxcfsShowsTheLimits) {
  if (find_lxcfs().files.empty()) GTEST_SKIP() << "lxcfs doesn't run on this host";
  const std::string id = made({{"memory", "64MiB"}, {"cpuset", "0"}});
  EXPECT_EQ(backend_->shell(id, "grep MemTotal /proc/meminfo").output, "MemTotal:          65536 kB\n");
  EXPECT_EQ(number_in(id, "grep -c ^processor /proc/cpuinfo"), 1);
  EXPECT_LT(number_in(id, "cat /proc/uptime"), 600);
  EXPECT_EQ(backend_->shell(id, "echo 1 > /proc/meminfo; mount | grep -c lxcfs.*ro,").output.find("0\n"), std::string::npos);
}

}  // namespace
}  // namespace harena::container::testing
