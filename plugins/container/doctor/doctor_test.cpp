// Each finding on a made-up host: a folder with the files that it looks at. A healthy host first; every case breaks one thing and must find
// exactly that, with a reason and a command.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "plugins/container/doctor/findings.hpp"

namespace harena::container {
namespace {

namespace fs = std::filesystem;

class Doctor : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/harena-doctor-XXXXXX";
    host_.root = ::mkdtemp(pattern);
    host_.kernel_release = "6.12.4-amd64";
    host_.landlock_version = 6;
    host_.clock_synchronised = true;
    file("/proc/self/mountinfo", "1 0 0:1 / / rw - ext4 /dev/sda rw\n2 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
    file("/proc/filesystems", "nodev\toverlay\n\terofs\n");
    file("/proc/swaps", "Filename\n");
    file("/proc/cmdline", "quiet\n");
    for (const char* kind : {"user", "net", "ipc", "uts", "pid", "mnt", "cgroup"}) file(std::string("/proc/sys/user/max_") + kind + "_namespaces", "95000\n");
    for (const char* limit : {"kernel/pid_max", "kernel/threads-max", "fs/file-max", "fs/nr_open", "fs/inotify/max_user_instances",
                              "fs/inotify/max_user_watches", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes", "kernel/pty/max", "fs/mount-max",
                              "vm/max_map_count"}) {
      file(std::string("/proc/sys/") + limit, "9223372036854775807\n");
    }
    file("/proc/sys/vm/overcommit_memory", "0\n");
    file("/proc/sys/fs/suid_dumpable", "2\n");
    file("/proc/sys/kernel/core_pattern", "core\n");
    file("/proc/sys/kernel/seccomp/actions_avail", "kill allow\n");
    file("/sys/module/apparmor/parameters/enabled", "Y\n");
    file("/sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n");
    file("/var/lib/lxcfs/proc/meminfo", "MemTotal: 1\n");
    file("/usr/sbin/apparmor_parser", "");
    file("/sbin/mke2fs", "");
    file("/proc/self/cmdline", "harenad");
    file("/proc/self/cgroup", "0::/system.slice/harenad.service\n");
    file("/proc/self/oom_score_adj", "-900\n");
    file("/proc/self/limits", limits_of("1048576"));
    file("/sys/fs/cgroup/system.slice/harenad.service/pids.max", "max\n");
    file("/dev/fuse", "");
    file("/dev/loop-control", "");
    file("/tools/sh", "");
    fs::permissions(host_.root + "/tools/sh", fs::perms::owner_all);
    settings_.launcher_path = settings_.shim_path = host_.root + "/tools/sh";
    settings_.tools_path = host_.root + "/tools";
    settings_.id_base = 0x70000000;
    settings_.id_ranges = 4094;
    settings_.instance = "default";
  }
  void TearDown() override { fs::remove_all(host_.root); }

  void file(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(host_.root + path).parent_path());
    std::ofstream(host_.root + path) << text;
  }
  static std::string limits_of(const std::string& files) {
    return "Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 " + files + "              files\n";
  }
  void without(const std::string& path) { fs::remove_all(host_.root + path); }
  json bad() const {
    json list = json::array();
    for (const auto& one : container_findings(host_, settings_)) {
      if (one["level"] != "ok") list.push_back(one);
    }
    return list;
  }
  /// Exactly one finding, of this id and level, whose fix holds `fix`.
  void expect(const std::string& id, const std::string& level, const std::string& fix) {
    const json list = bad();
    ASSERT_EQ(list.size(), 1u) << list.dump(1);
    EXPECT_EQ(list[0]["id"], "container." + id);
    EXPECT_EQ(list[0]["level"], level);
    EXPECT_FALSE(list[0]["what"].get<std::string>().empty());
    EXPECT_FALSE(list[0]["why"].get<std::string>().empty());
    EXPECT_NE(list[0]["fix"].get<std::string>().find(fix), std::string::npos) << list[0]["fix"];
  }

  HostView host_;
  Settings settings_;
};

TEST_F(Doctor, HealthyHostHasOnlyGoodNews) {
  EXPECT_EQ(bad(), json::array());
  EXPECT_GE(container_findings(host_, settings_).size(), 30u);
}

TEST_F(Doctor, OldKernel) {
  host_.kernel_release = "5.10.0-8";
  expect("kernel", "error", "newer kernel");
}

TEST_F(Doctor, LoopDevicesWhereTheKernelNeedsThem) {
  without("/dev/loop-control");
  EXPECT_EQ(bad(), json::array());
  host_.kernel_release = "6.1.0-18";
  expect("loop", "error", "modprobe loop");
}

TEST_F(Doctor, FileSystems) {
  file("/proc/filesystems", "nodev\toverlay\n");
  expect("erofs", "error", "modprobe erofs");
  file("/lib/modules/6.12.4-amd64/modules.dep", "kernel/fs/erofs/erofs.ko.xz: kernel/lib/x.ko\n");
  EXPECT_EQ(bad(), json::array());
  file("/proc/filesystems", "\terofs\n");
  expect("overlay", "error", "modprobe overlay");
}

TEST_F(Doctor, Namespaces) {
  file("/proc/sys/user/max_user_namespaces", "0\n");
  expect("namespaces.user", "error", "sysctl -w user.max_user_namespaces=");
  file("/proc/sys/user/max_user_namespaces", "100\n");
  expect("namespaces.user", "warning", "sysctl -w user.max_user_namespaces=");
  file("/proc/sys/user/max_user_namespaces", "95000\n");
  without("/proc/sys/user/max_net_namespaces");
  expect("namespaces.net", "error", "kernel");
}

TEST_F(Doctor, NoCgroups) {
  file("/proc/self/mountinfo", "1 0 0:1 / / rw - ext4 /dev/sda rw\n");
  expect("cgroup", "error", "mount -t cgroup2");
}

TEST_F(Doctor, MissingController) {
  file("/sys/fs/cgroup/cgroup.controllers", "cpu pids\n");
  expect("cgroup.memory", "error", "cgroup_enable=memory");
  settings_.allow_missing_limits = {"memory"};
  expect("cgroup.memory", "warning", "cgroup_enable=memory");
  file("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  expect("cgroup.pids", "error", "subtree_control");
}

TEST_F(Doctor, HybridCgroups) {
  file("/proc/self/mountinfo", "2 1 0:2 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n3 1 0:3 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                               "4 1 0:4 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  file("/sys/fs/cgroup/unified/cgroup.controllers", "\n");
  expect("cgroup.pids", "error", "mount -t cgroup -o pids");
}

TEST_F(Doctor, SwapThatNobodyCounts) {
  file("/proc/swaps", "Filename\n/dev/sda2 partition 1 0 -2\n");
  EXPECT_EQ(bad(), json::array());
  file("/proc/cmdline", "quiet swapaccount=0\n");
  expect("swap", "warning", "swapaccount=1");
}

TEST_F(Doctor, LimitsOfTheMachine) {
  const std::vector<std::pair<std::string, std::string>> limits = {
      {"pid_max", "kernel/pid_max"}, {"threads_max", "kernel/threads-max"}, {"file_max", "fs/file-max"}, {"nr_open", "fs/nr_open"},
      {"inotify_instances", "fs/inotify/max_user_instances"}, {"inotify_watches", "fs/inotify/max_user_watches"},
      {"keys", "kernel/keys/root_maxkeys"}, {"key_bytes", "kernel/keys/root_maxbytes"}, {"ptys", "kernel/pty/max"}, {"mount_max", "fs/mount-max"}, {"map_count", "vm/max_map_count"}};
  for (const auto& [id, path] : limits) {
    SCOPED_TRACE(id);
    file("/proc/sys/" + path, "128\n");
    expect(id, "warning", "sysctl -w ");
    without("/proc/sys/" + path);
    EXPECT_EQ(bad(), json::array());
  }
  file("/proc/sys/vm/overcommit_memory", "2\n");
  expect("overcommit", "warning", "vm.overcommit_memory=0");
}

TEST_F(Doctor, Hardening) {
  const std::vector<std::tuple<std::string, std::string, std::string, std::string, std::string>> cases = {
      {"/sys/module/apparmor/parameters/enabled", "N\n", "apparmor", "warning", "apparmor=1"},
      {"/proc/sys/fs/suid_dumpable", "1\n", "suid_dumpable", "error", "fs.suid_dumpable=0"},
      {"/proc/sys/kernel/core_pattern", "|/usr/share/apport/apport -p%p\n", "core_pattern", "warning", "core_pattern=core"},
      {"/sys/devices/system/cpu/vulnerabilities/meltdown", "Vulnerable\n", "cpu", "warning", "microcode"}};
  for (const auto& [path, text, id, level, fix] : cases) {
    SCOPED_TRACE(id);
    const std::string before = host_.text(path);
    file(path, text);
    expect(id, level, fix);
    file(path, before);
  }
  without("/usr/sbin/apparmor_parser");
  expect("apparmor", "warning", "apt-get install apparmor");
  file("/usr/sbin/apparmor_parser", "");
  without("/proc/sys/kernel/seccomp");
  expect("seccomp", "error", "CONFIG_SECCOMP_FILTER");
}

TEST_F(Doctor, ApparmorThatIsRequiredOrDoesNothing) {
  file("/sys/kernel/security/apparmor/profiles", "harena-default (enforce)\nharena-default2 (complain)\n");
  EXPECT_EQ(bad(), json::array());
  file("/sys/kernel/security/apparmor/profiles", "other (enforce)\nharena-default (complain)\n");
  expect("apparmor", "warning", "aa-enforce harena-default");
  settings_.apparmor = ApparmorMode::required;
  without("/sys/kernel/security");
  without("/usr/sbin/apparmor_parser");
  expect("apparmor", "error", "apt-get install apparmor");
  file("/sys/module/apparmor/parameters/enabled", "N\n");
  expect("apparmor", "error", "apparmor=1");
  settings_.apparmor = ApparmorMode::off;
  file("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  EXPECT_EQ(bad(), json::array());
}

TEST_F(Doctor, ThreadsOfOneCore) {
  file("/sys/devices/system/cpu/vulnerabilities/mds", "Mitigation: Clear CPU buffers; SMT vulnerable\n");
  EXPECT_EQ(bad(), json::array());
  file("/sys/devices/system/cpu/smt/active", "1\n");
  expect("smt", "warning", "nosmt");
  file("/sys/devices/system/cpu/vulnerabilities/mds", "Mitigation: Clear CPU buffers; SMT mitigated\n");
  EXPECT_EQ(bad(), json::array());
}

TEST_F(Doctor, WhatEndsTheMachineOrSlowsItDown) {
  file("/proc/sys/vm/panic_on_oom", "1\n");
  EXPECT_EQ(bad(), json::array());
  file("/proc/sys/vm/panic_on_oom", "2\n");
  expect("panic_on_oom", "error", "vm.panic_on_oom=0");
  file("/proc/sys/vm/panic_on_oom", "0\n");
  file("/proc/sys/net/core/bpf_jit_enable", "0\n");
  expect("bpf_jit", "warning", "net.core.bpf_jit_enable=1");
}

TEST_F(Doctor, TheUnitOfTheDaemon) {
  file("/proc/self/limits", limits_of("4096"));
  expect("unit.nofile", "warning", "LimitNOFILE=1048576");
  file("/proc/self/limits", limits_of("unlimited"));
  EXPECT_EQ(bad(), json::array());
  file("/sys/fs/cgroup/system.slice/harenad.service/pids.max", "512\n");
  expect("unit.tasks", "warning", "TasksMax=infinity");
  file("/sys/fs/cgroup/system.slice/harenad.service/pids.max", "4915\n");
  file("/proc/self/oom_score_adj", "0\n");
  expect("unit.oom", "warning", "OOMScoreAdjust=-900");
  file("/proc/self/oom_score_adj", "-900\n");
  file("/proc/self/status", "Name:\tharenad\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  expect("unit.filter", "warning", "systemctl edit harenad");
  file("/proc/self/status", "Name:\tharenad\nSeccomp:\t0\nSeccomp_filters:\t0\n");
  host_.own_mounts = true;
  expect("unit.mounts", "warning", "systemctl edit harenad");
  file("/proc/self/oom_score_adj", "0\n");
  // Asked without a daemon: the shell's limits are nobody's business.
  file("/proc/self/cmdline", std::string("harenad\0--doctor", 16));
  EXPECT_EQ(bad(), json::array());
}

TEST_F(Doctor, RoomForGroups) {
  file("/sys/fs/cgroup/cgroup.max.descendants", "max\n");
  file("/sys/fs/cgroup/cgroup.max.depth", "max\n");
  EXPECT_EQ(bad(), json::array());
  file("/sys/fs/cgroup/cgroup.max.descendants", "100\n");
  expect("cgroup.room", "warning", "echo max > /sys/fs/cgroup/cgroup.max.descendants");
  file("/sys/fs/cgroup/cgroup.max.descendants", "max\n");
  file("/sys/fs/cgroup/cgroup.max.depth", "3\n");
  expect("cgroup.room", "warning", "cgroup.max.depth");
}

TEST_F(Doctor, GroupsWithoutADaemon) {
  const std::string other = "/sys/fs/cgroup/harena/other";
  file(other + "/platform/cgroup.procs", "");
  file(other + "/cgroup.events", "populated 0\nfrozen 0\n");
  EXPECT_EQ(bad(), json::array());  // as a daemon that was stopped leaves them
  file(other + "/aaaaabbbbbcccccddddd/cgroup.procs", "");
  expect("orphans", "warning", "harena/other");
  file(other + "/cgroup.events", "populated 1\nfrozen 0\n");
  EXPECT_EQ(bad(), json::array());  // another daemon of this machine
  file("/sys/fs/cgroup/harena/default/aaaaabbbbbcccccddddd/cgroup.procs", "");
  file("/sys/fs/cgroup/harena/default/cgroup.events", "populated 0\n");
  EXPECT_EQ(bad(), json::array());  // our own
}

TEST_F(Doctor, FactsThatNoFileTells) {
  host_.landlock_version = 0;
  expect("landlock", "warning", "landlock");
  host_.landlock_version = 1;
  host_.clock_synchronised = false;
  expect("clock", "warning", "timedatectl");
  host_.clock_synchronised = std::nullopt;
  host_.is_root = false;
  expect("root", "error", "root");
}

TEST_F(Doctor, Installation) {
  settings_.tools_path = "";
  expect("tools", "warning", "busybox-static");
  settings_.tools_path = host_.root + "/tools";
  settings_.shim_path = "/nowhere/shim";
  expect("program.shim", "error", "shim_path");
  settings_.shim_path = settings_.launcher_path;
  without("/var/lib/lxcfs");
  expect("lxcfs", "warning", "apt-get install lxcfs");
  settings_.use_lxcfs = false;
  EXPECT_EQ(bad(), json::array());
  settings_.use_lxcfs = true;
  file("/var/lib/lxcfs/proc/meminfo", "x");
  without("/sbin/mke2fs");
  expect("disk", "warning", "e2fsprogs");
  file("/sbin/mke2fs", "");
  without("/dev/fuse");
  expect("fuse", "warning", "modprobe fuse");
}

TEST_F(Doctor, IdsThatSomebodyElseHas) {
  file("/etc/subuid", "somebody:1879048000:65536\n");
  expect("ids", "warning", "id_base");
  file("/etc/subuid", "somebody:100000:65536\n");
  EXPECT_EQ(bad(), json::array());
}

TEST(DoctorOfThePool, CountsThemAndSaysWhyThereAreNone) {
  BlankPool::Counts pool{.waiting = 2, .size = 4, .made = 9, .used = 7};
  Findings good;
  find_pool(pool, good);
  EXPECT_EQ(good.list()[0]["level"], "ok");
  EXPECT_NE(good.list()[0]["what"].get<std::string>().find("2 of 4"), std::string::npos);
  pool.problem = "no user namespaces";
  Findings bad;
  find_pool(pool, bad);
  EXPECT_EQ(bad.list()[0]["level"], "warning");
  EXPECT_NE(bad.list()[0]["what"].get<std::string>().find("no user namespaces"), std::string::npos);
}

TEST(DoctorHere, SaysSomethingOfEachKind) {
  const auto findings = container_findings(HostView::of_this_host(), Settings{});
  EXPECT_GE(findings.size(), 20u);
  for (const auto& one : findings) {
    EXPECT_TRUE(one["id"].get<std::string>().starts_with("container."));
    EXPECT_EQ(one["level"] == "ok", one["fix"].get<std::string>().empty()) << one;
  }
}

}  // namespace
}  // namespace harena::container
