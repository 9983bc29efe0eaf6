#pragma once
// The command line of a full machine (q35); pure. Disks and firmware are given by descriptor (/dev/fdset/N), sockets too.

#include <string>
#include <vector>

#include "plugins/qemu/machine/machine_config.hpp"

namespace harena::qemu {

/// Names inside the jail of what QEMU opens by name.
inline constexpr const char* kJailKernel = "/kernel";
inline constexpr const char* kJailInitramfs = "/initramfs";

/// Pieces of memory that can be plugged in.
inline constexpr int kMemorySlots = 16;

/// Descriptors as QEMU sees them; -1: none.
struct QemuDescriptors {
  int qmp = -1, console = -1;
  std::vector<int> bases;  ///< one a disk; -1 without a base
  std::vector<int> tops;
  int iso = -1, seed = -1, firmware_code = -1, firmware_vars = -1;
};

/// QEMU's names of what is written to, in the order of the disks; the firmware's variables are the last.
std::vector<std::string> writable_nodes(const MachineConfig& config);

/// argv without the program. A machine that goes on from a tag stands still at first. The first disk is always there: config.disks
/// isn't empty.
std::vector<std::string> qemu_arguments(const MachineConfig& config, const QemuDescriptors& descriptors);

}  // namespace harena::qemu
