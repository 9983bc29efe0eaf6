#pragma once
// The command line of a full machine (q35); pure. Disks and firmware are given by descriptor (/dev/fdset/N), sockets too.

#include <string>
#include <vector>

#include "plugins/qemu/machine/machine_config.hpp"

namespace harena::qemu {

/// Names inside the jail of what QEMU opens by name.
inline constexpr const char* kJailKernel = "/kernel";
inline constexpr const char* kJailInitramfs = "/initramfs";

/// Descriptors as QEMU sees them; -1: none.
struct QemuDescriptors {
  int qmp = -1, console = -1;
  std::vector<int> bases;  ///< one a disk; -1 without a base
  std::vector<int> tops;
  int iso = -1, seed = -1, firmware_code = -1, firmware_vars = -1;
};

/// argv without the program. The first disk is always there: config.disks isn't empty.
std::vector<std::string> qemu_arguments(const MachineConfig& config, const QemuDescriptors& descriptors);

}  // namespace harena::qemu
