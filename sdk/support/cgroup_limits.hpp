#pragma once
// The limits of one sandbox, and how each is written into the files of a v2 or of a v1 group.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena {

/// Bandwidth of one block device, the whole disk (partitions can't be limited); 0: not limited. v1 holds back reads and direct
/// writes only: what the page cache writes later belongs to nobody there. v2 holds back all.
struct IoBandwidth {
  unsigned major = 0;
  unsigned minor = 0;
  std::int64_t read_bps = 0;
  std::int64_t write_bps = 0;
  std::int64_t read_iops = 0;
  std::int64_t write_iops = 0;
  bool wanted() const { return read_bps != 0 || write_bps != 0 || read_iops != 0 || write_iops != 0; }
};

/// As much of the CPU as it may use at all, where sandboxes compete: four quarters weigh as much as a whole. 1 to 10,000.
std::int64_t cpu_weight_for(std::int64_t cpu_millicores);

/// What a sandbox may use. All that is wanted is enforced, unless the caller allows one to be missing.
struct CgroupLimits {
  /// CPU time in thousandths of a core (CFS quota over 100 ms); at least 10.
  std::int64_t cpu_millicores = 1000;
  /// 1..10000 as in cpu.weight of v2; 100 is normal.
  std::int64_t cpu_weight = 100;
  /// SCHED_IDLE for the group as a whole (cpu.idle, in both trees): it runs when nobody else wants to. The weight says nothing then.
  bool cpu_idle = false;
  /// CPUs as in cpuset.cpus, "0-1,4"; empty: all.
  std::string cpuset;
  std::int64_t memory_bytes = 0;
  /// Above it the group is slowed and reclaimed from (memory.high); 0: none. In v1 the soft limit: only when the host is short.
  std::int64_t memory_high_bytes = 0;
  /// Beside the memory; 0: none.
  std::int64_t swap_bytes = 0;
  std::int64_t pids = 0;
  /// 1..10000 as in io.weight of v2; 0: the kernel's.
  std::int64_t io_weight = 0;
  IoBandwidth io;
  /// Limits that can't be set here for a reason that the caller found, with the sentence.
  std::map<std::string, std::string> impossible;
  /// Groups of the v1 hierarchy cpuacct, which lxcfs reads; they limit nothing.
  bool account_cpu = false;
};

/// In the order in which they are set: cpu, cpu_idle, cpuset, memory, memory_high, swap, pids, io_weight, io_bandwidth.
const std::vector<std::string>& cgroup_limit_names();
/// The controller behind a limit, as v2 calls it ("io").
std::string controller_of_limit(std::string_view limit);
/// What v1 calls a controller of v2 ("io" is "blkio").
std::string v1_controller_name(const std::string& v2_controller);
/// Whether these limits ask for it at all.
bool wants_limit(const CgroupLimits& limits, std::string_view limit);

/// `group` is the directory of a v2 group whose parent delegates the controller. failed_precondition in words when the kernel has
/// not got the file or doesn't take the value.
Status set_v2_limit(std::string_view limit, int group, const CgroupLimits& limits);
/// The same for a group of the v1 hierarchy that has the controller.
Status set_v1_limit(std::string_view limit, int group, const CgroupLimits& limits);

/// Whether the host has swap in use.
bool host_has_swap();

}  // namespace harena
