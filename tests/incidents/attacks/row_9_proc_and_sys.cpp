// Row 9: a recursive grep into /proc crashed a kernel.

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tests/incidents/attacks/attack.hpp"

namespace harena::incidents {
namespace {

constexpr const char* kEmptyFiles[] = {
    "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags", "/proc/kcore", "/proc/kmsg", "/proc/sysrq-trigger",
    "/proc/timer_list", "/proc/latency_stats", "/proc/sched_debug", "/proc/kallsyms", "/proc/keys", "/proc/key-users",
    "/proc/vmallocinfo", "/proc/slabinfo", "/proc/iomem", "/proc/ioports", "/proc/modules", "/proc/cmdline", "/proc/interrupts",
    "/proc/config.gz", "/proc/allocinfo", "/proc/pagetypeinfo", "/proc/kpageidle", "/proc/vmcore"};
constexpr const char* kEmptyFolders[] = {"/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs",
                                         "/sys/module", "/sys/block", "/sys/devices/virtual/block", "/sys/devices/virtual/powercap",
                                         "/sys/kernel/slab", "/proc/acpi", "/proc/scsi", "/proc/driver", "/proc/fs"};

/// A read that gives nothing and a write that changes nothing.
void try_file(Report& report, const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return report.absent(path, "this kernel hasn't got it");
  const std::string text = read_file(path);
  struct stat info{};
  ::stat(path.c_str(), &info);
  const bool masked = S_ISCHR(info.st_mode) && info.st_rdev == 0x103;
  report.check(path, masked && text.empty(), masked ? "reads as empty" : "it is the kernel's own file");
}

void try_folder(Report& report, const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return report.absent(path, "this kernel hasn't got it");
  const auto names = names_in(path);
  report.check(path, names.empty(), names.empty() ? "empty" : "it has " + names.front());
}

// nftw has no argument for its callback.
std::string g_writable;
int g_visited = 0;

int try_to_write(const char* path, const struct stat* info, int type, FTW*) {
  if (type != FTW_F || !S_ISREG(info->st_mode)) return 0;
  ++g_visited;
  const int fd = ::open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return 0;
  ::close(fd);
  g_writable += std::string(path) + " ";
  return 0;
}

int read_a_part(const char* path, const struct stat* info, int type, FTW*) {
  if (type != FTW_F || !S_ISREG(info->st_mode)) return 0;
  ++g_visited;
  const int fd = ::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return 0;
  char part[4096];
  for (int i = 0; i < 4 && ::read(fd, part, sizeof part) > 0; ++i) {
  }
  ::close(fd);
  return 0;
}

void try_writing_below(Report& report, const std::string& folder) {
  g_writable.clear();
  g_visited = 0;
  ::nftw(folder.c_str(), try_to_write, 64, FTW_PHYS);
  report.check("write_below " + folder, g_writable.empty(),
               g_writable.empty() ? "none of " + std::to_string(g_visited) + " files opens for writing" : g_writable.substr(0, 400));
}

void read_all_below(Report& report, const std::string& folder) {
  g_visited = 0;
  ::nftw(folder.c_str(), read_a_part, 64, FTW_PHYS);
  report.held("grep -r " + folder, std::to_string(g_visited) + " files read, and the kernel lives");
}

}  // namespace

void row_9(Report& report) {
  for (const char* path : kEmptyFiles) try_file(report, path);
  for (const char* path : kEmptyFolders) try_folder(report, path);
  for (const char* folder : {"/proc/sys", "/sys", "/proc/irq", "/proc/bus"}) try_writing_below(report, folder);
  for (const char* folder : {"/proc", "/sys"}) read_all_below(report, folder);
}

}  // namespace harena::incidents
