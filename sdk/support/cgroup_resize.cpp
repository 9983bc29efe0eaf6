#include "sdk/support/cgroup_resize.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <tuple>
#include <utility>

#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"

namespace harena {
namespace {

bool exists(int at, const char* path) { return ::faccessat(at, path, F_OK, 0) == 0; }

Result<std::int64_t> number_in(int group, const char* file) {
  HARENA_TRY(auto text, read_file_at(group, file));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text == "max") return INT64_MAX;
  return parse_int(text, 0, INT64_MAX, file);
}

Error in_use(std::int64_t wanted, std::int64_t used) {
  Error error = make_error(ErrorCode::failed_precondition,
                           "the memory can't be " + std::to_string(wanted) + " bytes: " + std::to_string(used) +
                               " are in use and can't be taken back; end processes or remove files of memory file systems first");
  error.cause = Cause::limit;
  error.cause_detail = "memory";
  return error;
}

/// memory.max below the use would end processes. memory.high only takes back: afterwards it is seen whether that was enough.
Status reclaim_v2(int group, std::int64_t bytes) {
  HARENA_TRY(const auto used, number_in(group, "memory.current"));
  if (used <= bytes) return {};
  HARENA_TRY(const auto high, read_file_at(group, "memory.high"));
  HARENA_TRY_STATUS(write_file_at(group, "memory.high", std::to_string(bytes)));
  auto left = number_in(group, "memory.current");
  HARENA_TRY_STATUS(write_file_at(group, "memory.high", high));
  if (!left.ok()) return std::move(left).error();
  return *left <= bytes ? Status() : Status(in_use(bytes, *left));
}

Status change_v2_memory(int group, const CgroupLimits& after) {
  HARENA_TRY(const auto now, number_in(group, "memory.max"));
  if (after.memory_bytes < now) HARENA_TRY_STATUS(reclaim_v2(group, after.memory_bytes));
  HARENA_TRY_STATUS(set_v2_limit("memory", group, after));
  return set_v2_limit("swap", group, after);
}

Status set_v1_memory(int group, const CgroupLimits& after) {
  Status set = set_v1_limit("memory", group, after);
  if (set.ok()) return set;
  auto used = number_in(group, "memory.usage_in_bytes");
  return used.ok() && *used > after.memory_bytes ? Status(in_use(after.memory_bytes, *used)) : set;
}

/// Memory alone may never be more than memory and swap together, not even in between.
Status change_v1_memory(int group, const CgroupLimits& after) {
  const char* kTogether = "memory.memsw.limit_in_bytes";
  if (!exists(group, kTogether)) return set_v1_memory(group, after);
  HARENA_TRY(const auto now, number_in(group, kTogether));
  const bool more = after.memory_bytes + after.swap_bytes >= now;
  if (more) HARENA_TRY_STATUS(set_v1_limit("swap", group, after));
  HARENA_TRY_STATUS(set_v1_memory(group, after));
  return more ? Status() : set_v1_limit("swap", group, after);
}

/// Every one of the four, so that one which isn't asked for any more is taken away.
Status change_v1_io(int group, const IoBandwidth& io) {
  const std::string device = std::to_string(io.major) + ":" + std::to_string(io.minor) + " ";
  for (const auto& [file, value] : {std::pair("read_bps", io.read_bps), std::pair("write_bps", io.write_bps),
                                    std::pair("read_iops", io.read_iops), std::pair("write_iops", io.write_iops)}) {
    HARENA_TRY_STATUS(write_file_at(group, std::string("blkio.throttle.") + file + "_device", device + std::to_string(value)));
  }
  return {};
}

constexpr std::int64_t kNormalIoWeight = 100;

CgroupLimits with_io_weight(CgroupLimits limits) {
  if (limits.io_weight == 0) limits.io_weight = kNormalIoWeight;
  return limits;
}

Status take_cpus_of_parent(int group, const std::string& file) {
  HARENA_TRY(const auto parents, read_file_at(group, "../" + file));
  return write_file_at(group, "cpuset.cpus", parents);
}

}  // namespace

const std::vector<std::string>& resize_steps() {
  // What needs memory of the machine, and may therefore fail, comes first; cpu_idle before cpu, since an idle group takes no weight.
  static const std::vector<std::string> kSteps = {"memory", "memory_high", "cpuset", "pids", "io_weight", "io_bandwidth", "cpu_idle", "cpu"};
  return kSteps;
}

bool step_changes(std::string_view step, const CgroupLimits& a, const CgroupLimits& b) {
  if (step == "memory") return a.memory_bytes != b.memory_bytes || a.swap_bytes != b.swap_bytes;
  if (step == "memory_high") return a.memory_high_bytes != b.memory_high_bytes;
  if (step == "cpuset") return a.cpuset != b.cpuset;
  if (step == "pids") return a.pids != b.pids;
  if (step == "io_weight") return a.io_weight != b.io_weight;
  if (step == "cpu_idle") return a.cpu_idle != b.cpu_idle;
  if (step == "cpu") return a.cpu_millicores != b.cpu_millicores || a.cpu_weight != b.cpu_weight || a.cpu_idle != b.cpu_idle;
  const auto of = [](const IoBandwidth& io) { return std::tuple(io.read_bps, io.write_bps, io.read_iops, io.write_iops); };
  return of(a.io) != of(b.io);
}

Status change_v2_limit(std::string_view step, int group, const CgroupLimits& before, const CgroupLimits& after) {
  if (step == "memory") return change_v2_memory(group, after);
  if (step == "memory_high" && after.memory_high_bytes == 0) return write_file_at(group, "memory.high", "max");
  // A group with processes doesn't take back the empty set that means "as the parent": ENOSPC.
  if (step == "cpuset" && after.cpuset.empty()) return take_cpus_of_parent(group, "cpuset.cpus.effective");
  if (step == "cpu_idle" && !after.cpu_idle) return write_file_at(group, "cpu.idle", "0");
  if (step == "io_weight") return set_v2_limit(step, group, with_io_weight(after));
  if (step == "io_bandwidth" && !after.io.wanted()) {
    IoBandwidth none;
    none.major = before.io.major;
    none.minor = before.io.minor;
    CgroupLimits limits = after;
    limits.io = none;
    return set_v2_limit(step, group, limits);
  }
  return set_v2_limit(step, group, after);
}

Status change_v1_limit(std::string_view step, int group, const CgroupLimits& before, const CgroupLimits& after) {
  if (step == "memory") return change_v1_memory(group, after);
  if (step == "memory_high" && after.memory_high_bytes == 0) return write_file_at(group, "memory.soft_limit_in_bytes", "-1");
  if (step == "cpuset" && after.cpuset.empty()) return take_cpus_of_parent(group, "cpuset.cpus");
  if (step == "cpu_idle" && !after.cpu_idle) return write_file_at(group, "cpu.idle", "0");
  if (step == "io_weight") return set_v1_limit(step, group, with_io_weight(after));
  if (step == "io_bandwidth") {
    IoBandwidth io = after.io;
    io.major = after.io.wanted() ? after.io.major : before.io.major;
    io.minor = after.io.wanted() ? after.io.minor : before.io.minor;
    return change_v1_io(group, io);
  }
  return set_v1_limit(step, group, after);
}

}  // namespace harena
