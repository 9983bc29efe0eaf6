#pragma once
// What is said to Firecracker's API (firecracker.yaml of its releases, 1.8 to 1.x): bodies and their order, from a VmmSpec; pure. All paths are names
// in the jail's root (firecracker_jail.hpp).

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plugins/microvm/machine/vmm.hpp"
#include "sdk/base/result.hpp"

namespace harena::microvm {

using nlohmann::json;

/// The oldest that is driven: from 1.8 on its devices are found by ACPI, as kernels of distributions need it.
inline constexpr int kOldestFirecrackerMinor = 8;
inline constexpr int kFirecrackerMajor = 1;
/// Of vCPUs (machine-config).
inline constexpr int kMostFirecrackerCpus = 32;
/// The guest's address of vsock; each VMM has a socket of its own, so all may have the same.
inline constexpr int kGuestCid = 3;

struct FirecrackerRequest {
  std::string method, path;
  json body;
};

/// failed_precondition names the version that was found and what is right: "1.10.1" and newer of the same major.
Status check_firecracker_version(const std::string& version);
/// invalid_argument for what the driver can't give: reads and writes limited apart, more CPUs than Firecracker has.
Status check_firecracker_spec(const VmmSpec& spec);
/// From an empty process to a guest that runs.
std::vector<FirecrackerRequest> boot_requests(const VmmSpec& spec);
/// Of a stopped guest.
FirecrackerRequest save_request(MemoryKind kind);
FirecrackerRequest load_request();
FirecrackerRequest state_request(bool running);
/// Of a guest that was loaded: its state has the limits of the machine that was saved.
std::vector<FirecrackerRequest> limit_requests(const VmmSpec& spec);

/// Names in the jail.
namespace firecracker_jail {
inline constexpr const char* kApiSocket = "api.sock";
inline constexpr const char* kVsock = "v.sock";
inline constexpr const char* kKernel = "kernel";
inline constexpr const char* kInitramfs = "initramfs";
inline constexpr const char* kRam = "ram";
inline constexpr const char* kState = "state";
/// Where it writes snapshots.
inline constexpr const char* kOut = "out";
inline constexpr const char* kOutState = "out/state";
inline constexpr const char* kOutMemory = "out/memory";
/// A disk is named "drive-SERIAL".
std::string drive(const std::string& serial);
}  // namespace firecracker_jail

}  // namespace harena::microvm
