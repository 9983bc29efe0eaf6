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
  bool qcow2 = false;         ///< the base's format
  bool raw = false;           ///< the machine's own file is raw too, without a base; it can't hold a snapshot
  std::int64_t size_bytes = 0;  ///< of the disk that the guest sees; at least the base's
};

/// What was put in while the machine ran: documents of QEMU's -object and -device.
struct PluggedDevice {
  std::string object;  ///< empty: none
  std::string device;
  std::int64_t memory_bytes = 0;  ///< 0: a CPU
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
  int cpus = 1;      ///< at power-on
  int max_cpus = 1;  ///< with those that are plugged in later
  std::int64_t memory_bytes = 0;      ///< at power-on
  std::int64_t max_memory_bytes = 0;  ///< the same
  std::vector<PluggedDevice> plugged;
  /// What the sandbox's record says. A rollback across a growth, or a piece that the guest hasn't taken: the machine has another size.
  /// 0: of a release that didn't say.
  int asked_cpus = 0;
  std::int64_t asked_memory_bytes = 0;
  bool uefi = false;
  std::string firmware_code, firmware_vars;  ///< UEFI's flash; empty: BIOS
  std::vector<DiskConfig> disks;
  std::string iso;
  std::string kernel, initramfs, command_line;  ///< direct boot; empty: firmware boots a disk
  bool display = true;
  bool has_cloud_init = false;
  CloudInit cloud_init;
  std::uint32_t uid = 0;
  /// A tag that the files in vm_dir hold: the machine goes on from there. Empty: it is powered on.
  std::string restore_tag;
  std::string restore_vmm;  ///< the version of QEMU that it was taken under
  /// The tag's folder; empty: the tag is removed when it has been loaded.
  std::string restore_folder;

  /// With what was plugged in.
  int all_cpus() const;
  std::int64_t all_memory_bytes() const;
  json to_json() const;
  /// data_loss for what to_json can't have made.
  static Result<MachineConfig> parse(const std::string& text);
};

/// Files in vm_dir.
inline constexpr const char* kVariablesFile = "vars.qcow2";
inline constexpr const char* kSeedFile = "seed.iso";
/// A file for each tag that the disks hold, which names the snapshot's folder.
inline constexpr const char* kTagsFolder = "snapshots";
std::string disk_file(const MachineConfig& config, std::size_t number);

}  // namespace harena::qemu
