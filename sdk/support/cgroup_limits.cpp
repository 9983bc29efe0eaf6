#include "sdk/support/cgroup_limits.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"

namespace harena {
namespace {

constexpr std::int64_t kPeriodUs = 100'000;

std::string text_of(std::int64_t number) { return std::to_string(number); }

/// cpu.shares of v1 for a cpu.weight of v2: 100 is 1024 in both kernels' eyes.
std::int64_t shares_of(std::int64_t weight) { return std::max<std::int64_t>(2, weight * 1024 / 100); }

bool exists(int at, const std::string& path) { return ::faccessat(at, path.c_str(), F_OK, 0) == 0; }

std::string device_of(const IoBandwidth& io) { return std::to_string(io.major) + ":" + std::to_string(io.minor); }

Status need_file(int group, const std::string& file, const std::string& why) {
  if (exists(group, file)) return {};
  return make_error(ErrorCode::failed_precondition, "the kernel has no " + file + why);
}

Status set_v2_io(int group, const IoBandwidth& io) {
  HARENA_TRY_STATUS(need_file(group, "io.max", " (CONFIG_BLK_DEV_THROTTLING)"));
  std::string line = device_of(io);
  for (const auto& [key, value] : {std::pair("rbps", io.read_bps), std::pair("wbps", io.write_bps), std::pair("riops", io.read_iops),
                                   std::pair("wiops", io.write_iops)}) {
    line += std::string(" ") + key + "=" + (value == 0 ? "max" : text_of(value));
  }
  return write_file_at(group, "io.max", line);
}

Status set_v1_io(int group, const IoBandwidth& io) {
  HARENA_TRY_STATUS(need_file(group, "blkio.throttle.read_bps_device", " (CONFIG_BLK_DEV_THROTTLING)"));
  for (const auto& [file, value] : {std::pair("read_bps", io.read_bps), std::pair("write_bps", io.write_bps),
                                    std::pair("read_iops", io.read_iops), std::pair("write_iops", io.write_iops)}) {
    if (value == 0) continue;
    HARENA_TRY_STATUS(write_file_at(group, std::string("blkio.throttle.") + file + "_device", device_of(io) + " " + text_of(value)));
  }
  return {};
}

constexpr const char* kNoWeight = ": weights of I/O need the scheduler bfq on the disk, or io.cost";

Status set_v2_cpu(int group, const CgroupLimits& limits) {
  HARENA_TRY_STATUS(write_file_at(group, "cpu.max", text_of(limits.cpu_millicores * kPeriodUs / 1000) + " " + text_of(kPeriodUs)));
  return limits.cpu_idle ? Status() : write_file_at(group, "cpu.weight", text_of(limits.cpu_weight));  // an idle group takes none
}

Status set_v1_cpu(int group, const CgroupLimits& limits) {
  HARENA_TRY_STATUS(write_file_at(group, "cpu.cfs_period_us", text_of(kPeriodUs)));
  HARENA_TRY_STATUS(write_file_at(group, "cpu.cfs_quota_us", text_of(limits.cpu_millicores * kPeriodUs / 1000)));
  return limits.cpu_idle ? Status() : write_file_at(group, "cpu.shares", text_of(shares_of(limits.cpu_weight)));
}

/// bfq's own file, whose scale ends at 1000, and io.cost's: a kernel may have either alone.
Status set_v2_io_weight(int group, std::int64_t weight) {
  const bool has_bfq = exists(group, "io.bfq.weight");
  if (has_bfq) HARENA_TRY_STATUS(write_file_at(group, "io.bfq.weight", text_of(std::min<std::int64_t>(weight, 1000))));
  if (has_bfq && !exists(group, "io.weight")) return {};
  HARENA_TRY_STATUS(need_file(group, "io.weight", kNoWeight));
  return write_file_at(group, "io.weight", "default " + text_of(weight));
}

Status set_cpu_idle(int group) {
  HARENA_TRY_STATUS(need_file(group, "cpu.idle", " (Linux 5.15 has it)"));
  return write_file_at(group, "cpu.idle", "1");
}

Status set_v1_cpuset(int group, const std::string& cpus) {
  // A new group has no memory nodes, and takes no process without.
  HARENA_TRY(auto nodes, read_file_at(group, "../cpuset.mems"));
  HARENA_TRY_STATUS(write_file_at(group, "cpuset.mems", nodes));
  return write_file_at(group, "cpuset.cpus", cpus);
}

Status set_v1_swap(int group, const CgroupLimits& limits) {
  // Without the file nothing is swapped out, or the tree has said before that the limit can't be set.
  if (!exists(group, "memory.memsw.limit_in_bytes")) return {};
  return write_file_at(group, "memory.memsw.limit_in_bytes", text_of(limits.memory_bytes + limits.swap_bytes));
}

Status set_v2_swap(int group, const CgroupLimits& limits) {
  if (!exists(group, "memory.swap.max")) return {};  // a kernel without swap
  return write_file_at(group, "memory.swap.max", text_of(limits.swap_bytes));
}

}  // namespace

std::int64_t cpu_weight_for(std::int64_t cpu_millicores) {
  constexpr std::int64_t kWeightPerCore = 100, kLeast = 1, kMost = 10'000;
  return std::clamp(cpu_millicores * kWeightPerCore / 1000, kLeast, kMost);
}

const std::vector<std::string>& cgroup_limit_names() {
  static const std::vector<std::string> kNames = {"cpu",         "cpu_idle", "cpuset", "memory",    "memory_high",
                                                  "swap",        "pids",     "io_weight", "io_bandwidth"};
  return kNames;
}

std::string controller_of_limit(std::string_view limit) {
  if (limit == "cpu" || limit == "cpu_idle") return "cpu";
  if (limit == "cpuset" || limit == "pids") return std::string(limit);
  if (limit == "io_weight" || limit == "io_bandwidth") return "io";
  return "memory";
}

std::string v1_controller_name(const std::string& v2_controller) { return v2_controller == "io" ? "blkio" : v2_controller; }

bool wants_limit(const CgroupLimits& limits, std::string_view limit) {
  if (limit == "cpu_idle") return limits.cpu_idle;
  if (limit == "cpuset") return !limits.cpuset.empty();
  if (limit == "memory_high") return limits.memory_high_bytes != 0;
  if (limit == "io_weight") return limits.io_weight != 0;
  if (limit == "io_bandwidth") return limits.io.wanted();
  return true;
}

Status set_v2_limit(std::string_view limit, int group, const CgroupLimits& limits) {
  if (limit == "cpu") return set_v2_cpu(group, limits);
  if (limit == "cpu_idle") return set_cpu_idle(group);
  if (limit == "cpuset") return write_file_at(group, "cpuset.cpus", limits.cpuset);
  // One process out of memory ends alone; the whole group isn't what the user asked to be killed.
  if (limit == "memory") return write_file_at(group, "memory.max", text_of(limits.memory_bytes));
  if (limit == "memory_high") return write_file_at(group, "memory.high", text_of(limits.memory_high_bytes));
  if (limit == "swap") return set_v2_swap(group, limits);
  if (limit == "pids") return write_file_at(group, "pids.max", text_of(limits.pids));
  if (limit == "io_bandwidth") return set_v2_io(group, limits.io);
  return set_v2_io_weight(group, limits.io_weight);
}

Status set_v1_limit(std::string_view limit, int group, const CgroupLimits& limits) {
  if (limit == "cpu") return set_v1_cpu(group, limits);
  if (limit == "cpu_idle") return set_cpu_idle(group);
  if (limit == "cpuset") return set_v1_cpuset(group, limits.cpuset);
  if (limit == "memory") return write_file_at(group, "memory.limit_in_bytes", text_of(limits.memory_bytes));
  if (limit == "memory_high") return write_file_at(group, "memory.soft_limit_in_bytes", text_of(limits.memory_high_bytes));
  if (limit == "swap") return set_v1_swap(group, limits);
  if (limit == "pids") return write_file_at(group, "pids.max", text_of(limits.pids));
  if (limit == "io_bandwidth") return set_v1_io(group, limits.io);
  // bfq's scale ends at 1000.
  HARENA_TRY_STATUS(need_file(group, "blkio.bfq.weight", kNoWeight));
  return write_file_at(group, "blkio.bfq.weight", text_of(std::min<std::int64_t>(limits.io_weight, 1000)));
}

bool host_has_swap() {
  auto text = read_file_at(AT_FDCWD, "/proc/swaps");
  return text.ok() && split(*text, '\n').size() > 2;  // the first line is a heading, the last is empty
}

}  // namespace harena
