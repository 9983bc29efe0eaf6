#pragma once
// What a user may say about a microVM: the JSON Schema that describe publishes, and the checked values.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plugins/microvm/machine/vmm.hpp"
#include "sdk/base/result.hpp"

namespace harena::microvm {

using json = nlohmann::json;

/// Defaults of create; each is in the schema too.
inline constexpr std::int64_t kDefaultMemoryBytes = 512LL << 20;
inline constexpr std::int64_t kDefaultDiskBytes = 4LL << 30;
inline constexpr std::int64_t kDefaultPids = 4096;
/// A stock kernel with its initramfs doesn't boot in less.
inline constexpr std::int64_t kMinMemoryBytes = 128LL << 20;
inline constexpr std::int64_t kMaxMemoryBytes = 1LL << 40;
inline constexpr std::int64_t kMinDiskBytes = 16LL << 20;
inline constexpr std::int64_t kMaxDiskBytes = 8LL << 40;
/// As the container's io_read_bps and io_read_iops; QEMU's throttling ends at 1e15.
inline constexpr std::int64_t kMinBps = 4096;
inline constexpr std::int64_t kMaxBps = 1'000'000'000'000'000;
inline constexpr std::int64_t kMaxIops = UINT32_MAX;
/// microvm's own limit of virtual CPUs is above; a cgroup's quota makes parts of cores.
inline constexpr double kMinCpu = 0.05;
inline constexpr double kMaxCpu = 64;

/// Which templates a create may use: one that is there (else it boots, and one is made behind it), one in any case (made first), or none.
enum class TemplateUse { automatic, make, none };

/// What runs in a machine before its create answers.
struct StartSpec {
  std::string command;  // for /bin/sh; empty: nothing
  std::string ready;    // repeated until it ends with 0; empty: the command only has to begin
  std::int64_t ready_timeout_s = 60;
  std::string user, folder;
};

struct Parameters {
  std::int64_t cpu_millicores = 1000;
  std::int64_t memory_bytes = kDefaultMemoryBytes;
  std::int64_t disk_bytes = kDefaultDiskBytes;
  std::int64_t pids = kDefaultPids;
  std::int64_t open_files = 0;
  DiskLimits disk_limits;
  std::string hostname;  // empty: the sandbox's id
  std::map<std::string, std::string> env;
  std::string user;  // of commands that name none; empty: the image's
  bool readonly_rootfs = false;
  TemplateUse templates = TemplateUse::automatic;
  bool verify_all = false;  // of a snapshot: all of it is read and compared before it is started
  StartSpec start;  // user and folder are the plugin's to fill in

  /// Virtual CPUs: as many as the quota can use.
  int cpus() const { return static_cast<int>((cpu_millicores + 999) / 1000); }
};

/// The schema of "params" (2020-12, additionalProperties false).
const json& parameters_schema();
/// invalid_argument names the parameter, its value and what would be right; unimplemented says what a known option can't do.
Result<Parameters> parse_parameters(const json& params);

}  // namespace harena::microvm
