#include "plugins/container/lxcfs.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugins/container/launcher/protocol.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

/// What agents and build tools read; disks and swap are hidden in a sandbox anyway.
constexpr const char* kFiles[] = {"proc/cpuinfo", "proc/meminfo", "proc/stat", "proc/uptime", "proc/loadavg",
                                  "sys/devices/system/cpu/online"};

bool counts_cpus(const std::string& file) { return file == "proc/cpuinfo" || file == "sys/devices/system/cpu/online"; }

struct ::statx stat_of(const char* path) {
  struct ::statx info{};
  (void)::syscall(SYS_statx, AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_MNT_ID, &info);
  return info;
}

}  // namespace

std::uint64_t lxcfs_mount() {
  const auto mounted = stat_of(kLxcfsFolder);
  const auto above = stat_of("/var/lib");
  return mounted.stx_mnt_id == above.stx_mnt_id ? 0 : mounted.stx_mnt_id;
}

Lxcfs LxcfsView::now() {
  std::lock_guard lock(mutex_);
  if (!wanted_) return {};
  if (lxcfs_mount() == last_.mount) return last_;
  last_ = find_lxcfs();
  if (!with_cpus_) std::erase_if(last_.files, counts_cpus);
  return last_;
}

Lxcfs find_lxcfs() {
  Lxcfs found;
  found.mount = lxcfs_mount();
  if (found.mount == 0) return found;
  for (const char* name : kFiles) {
    if (read_file_at(AT_FDCWD, std::string(kLxcfsFolder) + "/" + name).ok()) found.files.emplace_back(name);
  }
  return found;
}

}  // namespace harena::container
