#include "plugins/container/host_disk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "sdk/base/text.hpp"
#include "sdk/support/cpu_set.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

Result<HostDisk> disk_from(const std::string& sys_folder) {
  HARENA_TRY(auto numbers, read_file_at(AT_FDCWD, sys_folder + "/dev"));
  const std::size_t colon = numbers.find(':');
  if (colon == std::string::npos) return make_error(ErrorCode::internal, sys_folder + "/dev reads '" + numbers + "'");
  HARENA_TRY(auto major_number, parse_int(numbers.substr(0, colon), 0, UINT32_MAX, "major"));
  HARENA_TRY(auto minor_number, parse_int(numbers.substr(colon + 1, numbers.find('\n') - colon - 1), 0, UINT32_MAX, "minor"));
  return HostDisk{static_cast<unsigned>(major_number), static_cast<unsigned>(minor_number), sys_folder.substr(sys_folder.rfind('/') + 1)};
}

}  // namespace

Result<HostDisk> disk_of_folder(const std::string& folder) {
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0) return errno_error(errno, "stat " + folder);
  const std::string link = "/sys/dev/block/" + std::to_string(major(info.st_dev)) + ":" + std::to_string(minor(info.st_dev));
  char resolved[PATH_MAX];
  if (::realpath(link.c_str(), resolved) == nullptr) {
    return make_error(ErrorCode::failed_precondition, "no single block device is behind " + folder);
  }
  std::string path = resolved;
  if (::access((path + "/partition").c_str(), F_OK) == 0) path.resize(path.rfind('/'));
  return disk_from(path);
}

std::string why_no_io_weight(const HostDisk& disk, const CgroupLayout& layout) {
  auto scheduler = read_file_at(AT_FDCWD, "/sys/block/" + disk.name + "/queue/scheduler");
  if (scheduler.ok() && scheduler->find("[bfq]") != std::string::npos) return {};
  auto cost = read_file_at(AT_FDCWD, layout.v2_root + "/io.cost.qos");
  const std::string line = std::to_string(disk.major) + ":" + std::to_string(disk.minor) + " enable=1";
  if (cost.ok() && cost->find(line) != std::string::npos) return {};
  return "weights of I/O mean nothing on the disk " + disk.name + " with its scheduler (echo bfq > /sys/block/" +
         disk.name + "/queue/scheduler)";
}

Status check_cpus_online(const std::string& list) {
  HARENA_TRY(auto text, read_file_at(AT_FDCWD, "/sys/devices/system/cpu/online"));
  text.resize(text.find('\n') == std::string::npos ? text.size() : text.find('\n'));
  HARENA_TRY(const CpuSet online, parse_cpus(text));
  auto wanted = parse_cpus(list);
  if (!wanted.ok()) return make_error(ErrorCode::invalid_argument, "parameter 'cpuset' is \"" + list + "\": " + wanted.error().message);
  for (const auto cpu : *wanted) {
    if (online.count(cpu) != 0) continue;
    return make_error(ErrorCode::invalid_argument, "parameter 'cpuset' is \"" + list + "\": this machine has no CPU " +
                                                       std::to_string(cpu) + "; right is a list of " + text);
  }
  return {};
}

}  // namespace harena::container
