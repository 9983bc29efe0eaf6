#pragma once
// What a user may say about a container: the JSON Schema that describe publishes, and the checked values.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plugins/container/weakening.hpp"
#include "sdk/base/result.hpp"
#include "sdk/support/capabilities.hpp"

namespace harena::container {

using json = nlohmann::json;

/// Defaults of create; each is in the schema too.
inline constexpr double kDefaultCpu = 1.0;
inline constexpr std::int64_t kDefaultMemoryBytes = 1LL << 30;
inline constexpr std::int64_t kDefaultPids = 1024;
inline constexpr std::int64_t kDefaultShmBytes = 64LL << 20;
/// Below this a shell can't start, and the kernel refuses quotas under 1 ms in 100 ms.
inline constexpr double kMinCpu = 0.01;
inline constexpr double kMaxCpu = 1024;
inline constexpr std::int64_t kMinMemoryBytes = 8LL << 20;
inline constexpr std::int64_t kMaxMemoryBytes = 1LL << 44;
inline constexpr std::int64_t kMinPids = 4;
inline constexpr std::int64_t kMaxPids = 4'000'000;
inline constexpr std::int64_t kMinDiskBytes = 16LL << 20;
inline constexpr std::int64_t kMaxDiskBytes = 1LL << 43;
inline constexpr std::int64_t kMinInodes = 256;
inline constexpr std::int64_t kMaxInodes = 1LL << 31;
inline constexpr std::int64_t kDefaultOpenFiles = 65536;
/// fs.nr_open's default: beyond it the kernel refuses the limit.
inline constexpr std::int64_t kMaxOpenFiles = 1 << 20;

/// What root inside keeps of its capabilities, all of them only over what is the sandbox's own: chown, dac_override, fowner,
/// fsetid, kill, setgid, setuid, setpcap, setfcap, net_bind_service, sys_chroot, audit_write. No net_raw, no sys_admin.
CapabilityMask default_capabilities();

struct Parameters {
  std::int64_t cpu_millicores = 1000;
  /// 0: not given, 100 for each core of `cpu`.
  std::int64_t cpu_weight = 0;
  bool cpu_idle = false;
  std::string cpuset;  // as in cpuset.cpus; empty: all
  std::int64_t memory_bytes = kDefaultMemoryBytes;
  std::int64_t memory_high_bytes = 0;  // 0: none
  std::int64_t swap_bytes = 0;
  std::int64_t pids = kDefaultPids;
  /// Of everything that is written outside of memory file systems; 0: as much as the host has.
  std::int64_t disk_bytes = 0;
  std::int64_t inodes = 0;  // 0: one for 16 KiB of disk_bytes
  std::int64_t io_weight = 0;
  std::int64_t io_read_bps = 0, io_write_bps = 0, io_read_iops = 0, io_write_iops = 0;
  std::int64_t open_files = 0;  // 0: kDefaultOpenFiles, or what the daemon itself has if that is less
  std::int64_t core_bytes = 0;
  std::int64_t file_bytes = -1;  // -1: no limit
  std::int64_t shm_bytes = kDefaultShmBytes;
  std::vector<std::pair<std::string, std::int64_t>> tmpfs;  // path, bytes
  std::string hostname;                                     // empty: the sandbox's id
  std::map<std::string, std::string> env;
  bool readonly_rootfs = false;
  Weakening weakening;
  /// Of commands that name none; empty: the image's. Returned in create's details, since commands don't pass through here.
  std::string user;
};

/// The schema of "params" (2020-12, additionalProperties false).
const json& parameters_schema();
/// invalid_argument names the parameter, its value and what would be right; unimplemented and failed_precondition say in a
/// sentence what a known option can't do yet.
Result<Parameters> parse_parameters(const json& params);

}  // namespace harena::container
