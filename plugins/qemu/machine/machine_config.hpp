#pragma once
// What the plugin tells a full machine's process: one JSON file, written before it is started.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::qemu {

using nlohmann::json;

struct DiskConfig {
  std::string image;          ///< the frozen base; empty: an empty disk
  bool qcow2 = false;         ///< its format
  std::int64_t size_bytes = 0;  ///< of the disk that the guest sees; at least the base's
};

struct CloudInit {
  std::string user_data, meta_data, network_config;  ///< empty: no such file (meta-data always is)
};

struct MachineConfig {
  std::string sandbox;
  std::string run_dir;  ///< sockets: machine.sock, console.sock, vnc.sock
  std::string vm_dir;   ///< disks; its own
  std::string qemu, qemu_img, iso_maker;
  bool kvm = false;
  std::string cpu_model = "max";
  int cpus = 1;
  std::int64_t memory_bytes = 0;
  std::string firmware_code, firmware_vars;  ///< UEFI's flash; empty: BIOS
  std::vector<DiskConfig> disks;
  std::string iso;
  std::string kernel, initramfs, command_line;  ///< direct boot; empty: firmware boots a disk
  bool display = true;
  bool has_cloud_init = false;
  CloudInit cloud_init;
  std::uint32_t uid = 0;

  json to_json() const;
  /// data_loss for what to_json can't have made.
  static Result<MachineConfig> parse(const std::string& text);
};

}  // namespace harena::qemu
