#pragma once
// MachineSnapshot: what a snapshot of a full machine is on disk. A folder with second names (hard links) of the machine's own
// files, whose disks
// hold the state under the tag, and snapshot.json, which is written last and says what machine it was.
//
// The machine goes on writing to the same disks, elsewhere in them; so these files may be read only while it stands still
// (Machine::copy_files)
// or when it has ended.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/qemu/machine/machine_config.hpp"
#include "sdk/base/result.hpp"

namespace harena::qemu {

/// Base images and ISOs aren't kept by a snapshot: they must be what they were.
struct ImageIdentity {
  std::int64_t size_bytes = 0;
  std::int64_t changed_ns = 0;  ///< mtime since 1970
  bool operator==(const ImageIdentity&) const = default;
};

struct MachineSnapshot {
  static constexpr int kVersion = 1;
  std::string tag;
  std::string vmm;       ///< QEMU's version
  MachineConfig config;  ///< with what was plugged in then; its paths are the source's
  std::map<std::string, ImageIdentity> images;  ///< by path

  /// not_found without snapshot.json in `folder`; failed_precondition for another version; data_loss.
  static Result<MachineSnapshot> read(const std::string& folder);
  /// Atomic: makes the folder a snapshot.
  Status write(const std::string& folder) const;
  /// failed_precondition names the image that has changed or is gone.
  Status check_images() const;
  /// invalid_argument names the parameter in which a machine that starts from it would differ; failed_precondition: the host.
  Status check_fits(const MachineConfig& wanted) const;
};

Result<std::map<std::string, ImageIdentity>> identify_images(const MachineConfig& config);

/// Of a file or a folder: what it holds is on the disk.
Status sync_file(const std::string& path);

/// Names, in the machine's folder, of the files that are its own.
std::vector<std::string> own_files(const MachineConfig& config);

/// Copies of them from the folder of a snapshot whose machine stands still; what is in `to` under their names is replaced.
Status copy_snapshot_files(const MachineSnapshot& snapshot, const std::string& from, const std::string& to);

}  // namespace harena::qemu
