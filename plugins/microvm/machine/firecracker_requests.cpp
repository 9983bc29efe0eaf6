#include "plugins/microvm/machine/firecracker_requests.hpp"

#include <cstdio>

namespace harena::microvm {
namespace {

namespace jail = firecracker_jail;

/// Buckets are refilled ten times a second, so that a burst is a tenth of a second's worth.
constexpr std::int64_t kRefillMs = 100;
constexpr std::int64_t kRefillsPerSecond = 1000 / kRefillMs;

std::string in_jail(const std::string& name) { return "/" + name; }

json bucket(std::int64_t per_second) {
  // A rate below the refills: one token, refilled more rarely.
  if (per_second < kRefillsPerSecond) return {{"size", 1}, {"refill_time", 1000 / per_second}};
  return {{"size", per_second / kRefillsPerSecond}, {"refill_time", kRefillMs}};
}

json rate_limiter(const DiskLimits& limits) {
  json limiter = json::object();
  if (limits.bps > 0) limiter["bandwidth"] = bucket(limits.bps);
  if (limits.iops > 0) limiter["ops"] = bucket(limits.iops);
  return limiter;
}

/// Firecracker's ids are letters, digits and underscores.
std::string drive_key(const DiskSpec& disk) {
  std::string key = jail::drive(disk.serial);
  for (char& c : key) c = c == '-' ? '_' : c;
  return key;
}

FirecrackerRequest drive_request(const VmmSpec& spec, const DiskSpec& disk) {
  const std::string key = drive_key(disk);
  json body = {{"drive_id", key},        {"path_on_host", in_jail(jail::drive(disk.serial))}, {"is_root_device", false}, {"is_read_only", !disk.writable},
               {"cache_type", "Unsafe"}, {"io_engine", "Sync"}};
  if (const json limiter = rate_limiter(spec.disk_limits); !limiter.empty()) body["rate_limiter"] = limiter;
  return {"PUT", "/drives/" + key, std::move(body)};
}

}  // namespace

std::string jail::drive(const std::string& serial) { return "drive-" + serial; }

Status check_firecracker_version(const std::string& version) {
  int major = 0, minor = 0;
  const bool read = std::sscanf(version.c_str(), "%d.%d", &major, &minor) == 2;
  if (read && major == kFirecrackerMajor && minor >= kOldestFirecrackerMinor) return {};
  return make_error(ErrorCode::failed_precondition, "Firecracker's version is '" + version.substr(0, 80) + "'; " + std::to_string(kFirecrackerMajor) +
                                                        "." + std::to_string(kOldestFirecrackerMinor) + " or a newer " +
                                                        std::to_string(kFirecrackerMajor) + ".x is right");
}

Status check_firecracker_spec(const VmmSpec& spec) {
  const auto& limits = spec.disk_limits;
  if (limits.read_bps > 0 || limits.write_bps > 0 || limits.read_iops > 0 || limits.write_iops > 0) {
    return make_error(ErrorCode::invalid_argument, "io_read_* and io_write_*: Firecracker counts reads and writes together; io_bps and io_iops are right");
  }
  if (spec.cpus > kMostFirecrackerCpus) {
    return make_error(ErrorCode::invalid_argument, std::to_string(spec.cpus) + " virtual CPUs: Firecracker has at most " + std::to_string(kMostFirecrackerCpus));
  }
  for (const auto& disk : spec.disks) {
    if (disk.files.size() != 1 || disk.files[0].overlay) return make_error(ErrorCode::internal, "disk '" + disk.serial + "': Firecracker has raw files alone");
  }
  return {};
}

std::vector<FirecrackerRequest> boot_requests(const VmmSpec& spec) {
  std::vector<FirecrackerRequest> requests;
  requests.push_back({"PUT", "/machine-config",
                      {{"vcpu_count", spec.cpus}, {"mem_size_mib", spec.ram_bytes >> 20}, {"smt", false}, {"track_dirty_pages", true}}});
  requests.push_back({"PUT", "/boot-source",
                      {{"kernel_image_path", in_jail(jail::kKernel)}, {"initrd_path", in_jail(jail::kInitramfs)}, {"boot_args", spec.command_line}}});
  for (const auto& disk : spec.disks) requests.push_back(drive_request(spec, disk));
  requests.push_back({"PUT", "/vsock", {{"guest_cid", kGuestCid}, {"uds_path", in_jail(jail::kVsock)}}});
  requests.push_back({"PUT", "/entropy", json::object()});
  requests.push_back({"PUT", "/actions", {{"action_type", "InstanceStart"}}});
  return requests;
}

FirecrackerRequest save_request(MemoryKind kind) {
  return {"PUT", "/snapshot/create",
          {{"snapshot_type", kind == MemoryKind::changes ? "Diff" : "Full"}, {"snapshot_path", in_jail(jail::kOutState)},
           {"mem_file_path", in_jail(jail::kOutMemory)}}};
}

FirecrackerRequest load_request() {
  // enable_diff_snapshots: deprecated in favour of track_dirty_pages, which versions before 1.13 refuse; all of 1.x read it.
  return {"PUT", "/snapshot/load",
          {{"snapshot_path", in_jail(jail::kState)}, {"mem_backend", {{"backend_type", "File"}, {"backend_path", in_jail(jail::kRam)}}},
           {"enable_diff_snapshots", true}, {"resume_vm", false}}};
}

std::vector<FirecrackerRequest> limit_requests(const VmmSpec& spec) {
  // A bucket of size 0 takes a limit away; one that isn't named stays as it was.
  const json none = {{"size", 0}, {"refill_time", 0}};
  json limiter = {{"bandwidth", none}, {"ops", none}};
  limiter.update(rate_limiter(spec.disk_limits));
  std::vector<FirecrackerRequest> requests;
  for (const auto& disk : spec.disks) {
    const std::string key = drive_key(disk);
    requests.push_back({"PATCH", "/drives/" + key, {{"drive_id", key}, {"rate_limiter", limiter}}});
  }
  return requests;
}

FirecrackerRequest state_request(bool running) { return {"PATCH", "/vm", {{"state", running ? "Resumed" : "Paused"}}}; }

}  // namespace harena::microvm
