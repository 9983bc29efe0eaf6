#include "guest/early_boot.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "sdk/support/files.hpp"

namespace harena::guest {
namespace {

struct OwnMount {
  const char* type;
  const char* path;
  unsigned long flags;
  const char* data;
};
constexpr OwnMount kMounts[] = {
    {"proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr},
    {"sysfs", "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr},
    {"devtmpfs", "/dev", MS_NOSUID | MS_NOEXEC, "mode=0755"},
    {"tmpfs", "/run", MS_NOSUID | MS_NODEV, "mode=0700"},
    {"cgroup2", "/sys/fs/cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr},
};

}  // namespace

Status mount_own_filesystems() {
  for (const auto& entry : kMounts) {
    ::mkdir(entry.path, 0755);
    // EBUSY: the kernel has mounted devtmpfs already (CONFIG_DEVTMPFS_MOUNT).
    if (::mount(entry.type, entry.path, entry.type, entry.flags, entry.data) != 0 && errno != EBUSY) {
      return errno_error(errno, std::string("mount ") + entry.path);
    }
  }
  return {};
}

Status make_root_pivotable() {
  constexpr const char* kSpot = "/run/root";
  if (::mkdir(kSpot, 0700) != 0 && errno != EEXIST) return errno_error(errno, "make /run/root");
  if (::mount("/", kSpot, nullptr, MS_BIND | MS_REC, nullptr) != 0) return errno_error(errno, "bind the root");
  if (::chdir(kSpot) != 0) return errno_error(errno, "chdir to the root's mount");
  if (::mount(".", "/", nullptr, MS_MOVE, nullptr) != 0) return errno_error(errno, "move the root's mount");
  if (::chroot(".") != 0 || ::chdir("/") != 0) return errno_error(errno, "chroot to the root's mount");
  return {};
}

void protect_self() {
  ::prctl(PR_SET_DUMPABLE, 0);
  ::signal(SIGPIPE, SIG_IGN);
  ::umask(022);
  (void)write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "-1000");
  // What shim and commands may raise theirs to; the numbers are those of systemd's units.
  const rlimit files{1024, 524288};
  ::setrlimit(RLIMIT_NOFILE, &files);
}

void close_kernel_doors() {
  constexpr const char* kSettings[][2] = {{"modules_disabled", "1"},         {"kexec_load_disabled", "1"}, {"kptr_restrict", "2"},
                                          {"dmesg_restrict", "1"},           {"perf_event_paranoid", "3"}, {"sysrq", "0"},
                                          {"unprivileged_bpf_disabled", "2"}, {"core_pattern", "core"}};
  // A kernel without one of them has no such door.
  for (const auto& [name, value] : kSettings) (void)write_file_at(AT_FDCWD, std::string("/proc/sys/kernel/") + name, value);
}

}  // namespace harena::guest
