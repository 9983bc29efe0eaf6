// The container backend on this host: real sandboxes of a busybox image, driven through the plugin ABI.

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <sstream>

#include "plugins/container/tests/container_case.hpp"
#include "sdk/support/process.hpp"

namespace harena::container::testing {
namespace {

using Container = ContainerCase;

TEST_F(Container, RunsAsRootInsideAndNobodyOutside) {
  const std::string id = made();
  auto result = backend_->shell(id, "id -u; hostname; cat /etc/marker; echo $FROM_IMAGE");
  EXPECT_EQ(result.output, "0\n" + id + "\nlower\nyes\n");
  EXPECT_EQ(result.exit, 0);
  const auto status = read_text("/proc/" + std::to_string(init_pid()) + "/status");
  // The range's last id, which has no number inside: root of the sandbox isn't init's user.
  const auto last = std::to_string(last_["details"]["first_id"].get<std::uint32_t>() + 65535);
  EXPECT_NE(status.find("Uid:\t" + last + "\t" + last + "\t" + last), std::string::npos) << status;
  EXPECT_NE(status.find("CapEff:\t0000000000000000"), std::string::npos) << status;
}

TEST_F(Container, FilesBelongToTheSandboxsIds) {
  const std::string id = made();
  auto result = backend_->shell(id, "stat -c '%u:%g' /etc/passwd /; echo new > /etc/marker; cat /etc/marker; chown 1000:1000 /etc/marker; stat -c %u /etc/marker");
  EXPECT_EQ(result.output, "0:0\n0:0\nnew\n1000\n");
  EXPECT_EQ(read_text(backend_->state_dir(id) / "u/etc/marker"), "new\n");
  const std::string other = made();
  EXPECT_EQ(backend_->shell(other, "cat /etc/marker").output, "lower\n");
}

TEST_F(Container, InitCantBeReadKilledOrStopped) {
  const std::string id = made();
  auto result = backend_->shell(id, "cat /proc/1/environ; cat /proc/1/maps; ls /proc/1/fd; ls /proc/1/root/; readlink /proc/1/exe; kill -9 1; kill -STOP 1; kill -TERM 1; cat /proc/1/cmdline");
  EXPECT_EQ(result.output.find("harena"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("/proc/1/maps': Permission denied"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("/proc/1/fd': Permission denied"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find(std::string("\ninit\0", 6)), std::string::npos) << result.output;
  EXPECT_EQ(backend_->shell(id, "echo alive").output, "alive\n");
}

TEST_F(Container, OrphansAreReaped) {
  const std::string id = made();
  backend_->shell(id, "for i in 1 2 3 4 5; do sh -c 'true & true & exec true' & done; wait");
  auto result = backend_->shell(id, "for i in $(seq 200); do n=$(grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l); [ $n = 0 ] && break; done; echo $n");
  EXPECT_EQ(result.output, "0\n");
}

TEST_F(Container, NothingOfThePlatformIsVisible) {
  const std::string id = made();
  auto result = backend_->shell(id, "cat /proc/self/mountinfo /proc/mounts /proc/self/cgroup; env; ls -la /proc/self/fd; cat /proc/cmdline; ls -a /");
  for (const std::string& secret : std::vector<std::string>{backend_->folder().string(), std::string("/tmp/hx"), std::string("/var/lib"), std::string("lowerdir=/"),
                                   std::string("upperdir=/"), std::string("harena"), backend_->instance(), std::string("erofs"), std::string("/work")}) {
    EXPECT_EQ(result.output.find(secret), std::string::npos) << secret << " in:\n" << result.output;
  }
  EXPECT_EQ(backend_->shell(id, "cat /etc/resolv.conf; cat /etc/hostname").output, "# no network\n" + id + "\n");
  EXPECT_EQ(backend_->shell(id, "cat /sys/devices/virtual/block/loop0/loop/backing_file 2>/dev/null; ls /sys/fs /sys/block").output, "/sys/block:\n\n/sys/fs:\n");
}

TEST_F(Container, OwnNetworkWithLoopbackOnly) {
  const std::string id = made();
  auto result = backend_->shell(id, "ls /sys/class/net; cat /sys/class/net/lo/flags; tail -n +3 /proc/net/dev | wc -l");
  EXPECT_EQ(result.output, "lo\n0x9\n1\n");
}

TEST_F(Container, DangerousPartsOfProcAndSysAreMasked) {
  const std::string id = made();
  for (const std::string& file : std::vector<std::string>{"kcore", "kpagecount", "kpagecgroup", "kpageflags", "timer_list", "kallsyms", "keys", "interrupts", "iomem"}) {
    auto result = backend_->shell(id, "test -e /proc/" + file + " || exit 0; cat /proc/" + file + " | wc -c");
    EXPECT_TRUE(result.output == "0\n" || result.output.empty()) << file << ": " << result.output;
  }
  EXPECT_NE(backend_->shell(id, "echo 1 > /proc/sys/kernel/panic").exit, 0);
  EXPECT_NE(backend_->shell(id, "echo x > /sys/kernel/profiling").exit, 0);
  EXPECT_EQ(backend_->shell(id, "test -e /proc/sysrq-trigger && echo b > /proc/sysrq-trigger; ls /sys/firmware").output, "");
  EXPECT_EQ(backend_->shell(id, "ls -a /dev | grep -E 'kmsg|mem|kvm|vda|loop'").output, "");
  EXPECT_EQ(backend_->shell(id, "echo x > /dev/null && head -c 4 /dev/zero | wc -c && head -c 4 /dev/urandom | wc -c && stat -c %u /dev/null").output, "4\n4\n0\n");
  EXPECT_EQ(backend_->shell(id, "stat -c %a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty | sort -u").output, "666\n");
}

TEST_F(Container, FoldersOfSandboxesLieApartOnExt4) {
  made();
  UniqueFd folder(::open((backend_->folder() / "state").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs info{};
  ASSERT_EQ(::fstatfs(folder.get(), &info), 0);
  int flags = 0;
  if (info.f_type != EXT4_SUPER_MAGIC) GTEST_SKIP() << "the state folder isn't on ext4";
  ASSERT_EQ(::ioctl(folder.get(), FS_IOC_GETFLAGS, &flags), 0);
  EXPECT_NE(flags & FS_TOPDIR_FL, 0);
}

TEST_F(Container, OptionsTakeEffect) {
  const std::string id = made({{"hostname", "box"}, {"env", {{"COLOUR", "snow ☃ \"'"}}}, {"readonly_rootfs", true}, {"tmpfs", {{"/tmp", "1MiB"}}}, {"shm", 65536}});
  EXPECT_EQ(backend_->shell(id, "hostname; echo \"$COLOUR\"").output, "box\nsnow ☃ \"'\n");
  EXPECT_NE(backend_->shell(id, "echo x > /etc/marker").exit, 0);
  auto result = backend_->shell(id, "dd if=/dev/zero of=/tmp/full bs=64k count=64 2>&1 | grep -c 'No space'; dd if=/dev/zero of=/dev/shm/full bs=64k count=2 2>&1 | grep -c 'No space'");
  EXPECT_EQ(result.output, "1\n1\n");
}

TEST_F(Container, RulesOfTheSeccompProfile) {
  const std::string id = made();
  const std::map<std::string, int> expected = {
      {"xfs_swapext", EPERM}, {"xfs_swapext_other_size", EPERM}, {"xfs_exchange_range", EPERM}, {"ext4_move_extent", EPERM},
      {"ext4_resize", EPERM}, {"set_immutable", EPERM}, {"set_project", EPERM}, {"freeze", EPERM}, {"thaw", EPERM}, {"get_flags", ENOTTY /* the file system's answer, not the filter's */},
      {"terminal_push", EPERM}, {"terminal_push_high_bits", EPERM}, {"open_by_handle", EPERM}, {"mount_tmpfs", EPERM}, {"mount_proc", EPERM},
      {"uncover_proc_sys", EPERM}, {"fsopen", EPERM}, {"bpf", EPERM}, {"keyctl", EPERM}, {"add_key", EPERM}, {"userfaultfd", EPERM},
      {"io_uring", EPERM}, {"perf", EPERM}, {"kexec", EPERM}, {"module", EPERM}, {"unshare_user", EPERM}, {"unshare_time", EPERM},
      {"clone_user", EPERM}, {"clone_net", EPERM}, {"clone_plain", 0}, {"clone3", ENOSYS}, {"vsock", EAFNOSUPPORT}, {"alg", EAFNOSUPPORT},
      {"raw_socket", EPERM}, {"inet_socket", 0}, {"trace_init", EPERM}, {"enter_init", EACCES}, {"set_time", EPERM}, {"set_hostname", EPERM},
      {"disk_node", EPERM}, {"trusted_xattr", EPERM}, {"x32_call", ENOSYS}, {"i386_call", ENOSYS}, {"unknown_call", ENOSYS}};
  for (const auto& [attack, error] : expected) {
    EXPECT_EQ(backend_->run(id, {"attack", attack}).output, attack + "=" + std::to_string(error) + "\n");
  }
}

TEST_F(Container, BadParametersAreNamed) {
  const std::vector<std::pair<json, std::string>> cases = {
      {{{"cpu", 0}}, "cpu"}, {{{"cpu", -1}}, "cpu"}, {{{"cpu", "two"}}, "cpu"}, {{{"cpu", 1e9}}, "cpu"}, {{{"memory", 0}}, "memory"},
      {{{"memory", "-1"}}, "memory"}, {{{"memory", "lots"}}, "memory"}, {{{"memory", 1}}, "memory"}, {{{"pids", 0}}, "pids"}, {{{"pids", 2.5}}, "pids"},
      {{{"pids", 18446744073709551615ull}}, "pids"}, {{{"tmpfs", {{"relative", "1MiB"}}}}, "relative"}, {{{"tmpfs", {{"/proc/x", "1MiB"}}}}, "/proc/x"},
      {{{"tmpfs", {{"/a/../b", "1MiB"}}}}, "/a/../b"}, {{{"hostname", "a b"}}, "a b"}, {{{"env", {{"A=B", "x"}}}}, "A=B"}, {{{"memroy", 1}}, "did you mean 'memory'"}};
  for (const auto& [params, named] : cases) {
    const std::string id = new_id();
    auto outcome = backend_->create(id, params);
    EXPECT_EQ(outcome.status, HARENA_INVALID_ARGUMENT) << params;
    EXPECT_NE(outcome.message.find(named), std::string::npos) << outcome.message;
  }
  EXPECT_EQ(backend_->create(new_id(), {{"disk_bytes", 1}}).status, HARENA_INVALID_ARGUMENT);
  EXPECT_EQ(backend_->create(new_id(), {{"network", {{"mode", "host"}}}}).status, HARENA_UNIMPLEMENTED);
  EXPECT_EQ(backend_->create("UPPER/..", {}).status, HARENA_INVALID_ARGUMENT);
}

TEST_F(Container, IdsAreChecked) {
  const std::string id = made();
  EXPECT_EQ(backend_->create(id).status, HARENA_ALREADY_EXISTS);
  EXPECT_EQ(backend_->shell(id, "echo still here").output, "still here\n");
  EXPECT_EQ(backend_->usage("unknown").status, HARENA_NOT_FOUND);
  EXPECT_EQ(backend_->pause("unknown").status, HARENA_NOT_FOUND);
  EXPECT_EQ(backend_->stop("unknown").status, HARENA_OK);
}

TEST_F(Container, LayersThroughLoopDevicesToo) {
  backend_ = std::make_unique<Backend>(json{{"layer_mount", "loop"}});
  const std::string id = made();
  EXPECT_EQ(backend_->shell(id, "cat /etc/marker").output, "lower\n");
}

TEST_F(Container, ProbeSaysUsable) {
  auto probe = backend_->probe();
  EXPECT_TRUE(probe.result["usable"].get<bool>()) << probe.result;
  EXPECT_TRUE(probe.result["why_not"].empty());
  EXPECT_TRUE(probe.result["facts"].contains("cgroup_mode"));
}

TEST_F(Container, AUserThatIsNotThereIsRefusedAtCreate) {
  for (const char* user : {"nobody2", "user:nogroup2"}) {
    const std::string id = new_id();
    auto outcome = backend_->create(id, {{"user", user}});
    EXPECT_EQ(outcome.status, HARENA_INVALID_ARGUMENT) << outcome.message;
    EXPECT_NE(outcome.message.find("'user' is '" + std::string(user) + "'"), std::string::npos) << outcome.message;
    EXPECT_EQ(backend_->usage(id).status, HARENA_NOT_FOUND) << "nothing half-made stays";
  }
  for (const char* user : {"user", "1000", "12345", "user:0", "root"}) {
    EXPECT_EQ(backend_->create(new_id(), {{"user", user}}).status, HARENA_OK) << user;
  }
}

}  // namespace
}  // namespace harena::container::testing
