#pragma once
// What the plugin tells a machine's process: one JSON file, written before it is started.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plugins/microvm/machine/vmm.hpp"
#include "sdk/base/result.hpp"

namespace harena::microvm {

using nlohmann::json;

struct MachineLayer {
  std::string digest;
  std::string path;
};

struct MachineConfig {
  std::string sandbox;
  std::string run_dir;  // sockets
  std::string vm_dir;   // RAM, disks and state of this machine; its own
  std::string from;     // folder of a machine image to start from; empty: boot
  bool tied = false;     // it ends when the daemon that started it does: a sandbox's machine goes on, nobody asks for another one again
  bool standby = false;  // with `from`: it is to be claimed by a sandbox (Machine::claim), and ends when nobody will
  bool paused = false;   // vm_dir is the image of a machine whose process has died while it was paused: it is paused again
  std::string vmm = "qemu";  // or "firecracker"
  std::string program;       // of the VMM
  std::string jailer;        // of Firecracker
  std::string firmware_dir, kernel, initramfs;
  Accelerator accelerator = Accelerator::tcg;
  std::string cpu_model = "max";
  std::int64_t tsc_khz = 0;  // of the host, which TCG shows to the guest; 0: the guest measures by itself
  int cpus = 1;
  std::int64_t ram_bytes = 0;
  std::int64_t disk_bytes = 0;  // of the writable disk
  DiskLimits disk_limits;
  std::vector<MachineLayer> layers;
  std::uint32_t uid = 0;
  /// Of a claim: files that a thread writes itself into to join the sandbox's groups, in place of the descriptors of the start.
  std::vector<std::string> groups;
  std::string hostname;
  std::string machine_id;
  std::map<std::string, std::string> env;
  std::int64_t pids = 0;
  std::vector<std::string> rlimits;
  bool readonly_root = false;
  std::int64_t start_timeout_ms = 120'000;

  json to_json() const;
  /// data_loss for what to_json can't have made.
  static Result<MachineConfig> parse(const std::string& text);
};

}  // namespace harena::microvm
