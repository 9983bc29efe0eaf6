#pragma once
// The command line of QEMU's microvm machine from a VmmSpec; pure. Files are given by descriptor where QEMU can (disks: /dev/fdset/N), else by the
// name that they have in the jail.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plugins/microvm/machine/jail_names.hpp"
#include "plugins/microvm/machine/vmm.hpp"

namespace harena::microvm {

/// Memory for translated code under TCG: QEMU's own default is an eighth of the host's memory.
inline constexpr int kTranslationMiB = 64;

/// Descriptors as QEMU sees them.
struct QemuDescriptors {
  int qmp = -1;
  int channel = -1;
  int console = -1;
  /// One for each file of each disk, in order.
  std::vector<std::vector<int>> disks;
};

/// Names of block nodes: the file with the number `file` of the disk `disk`, and its format.
std::string disk_node(std::size_t disk, std::size_t file);

/// Of block_set_io_throttle: for the disk with this number, in the group of all of them.
nlohmann::json throttle_arguments(std::size_t disk, const DiskLimits& limits);

/// argv without the program.
std::vector<std::string> qemu_arguments(const VmmSpec& spec, const QemuDescriptors& descriptors);

}  // namespace harena::microvm
