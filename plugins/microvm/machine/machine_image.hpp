#pragma once
// A machine image: a folder that holds a machine standing still. RAM file, what was written over it, the devices' state, the chain of the
// writable disk, and manifest.json, which is written last: a folder without it is no image. What a snapshot is, what a paused machine's own
// folder is, and what forks start from. Version 2: the sizes of all files are in it.
//
// The files of an image never change. Others use them by hard links: who needs a file has a name for it, the last name that goes takes the
// file along, and nobody counts. Across file systems it is copied. No path is in it, so it can be moved to another machine.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plugins/microvm/machine/vmm.hpp"
#include "sdk/base/result.hpp"
#include "sdk/vmm/file_copies.hpp"

namespace harena::microvm {

inline constexpr const char* kManifestFile = "manifest.json";

struct MachineImage {
  static constexpr int kVersion = 2;
  std::string ram;                  // names in the folder
  std::string delta;                // empty: nothing was written over the RAM file
  std::string state;
  std::vector<DiskFile> disk;       // `path` is a name in the folder; lowest first
  std::int64_t ram_bytes = 0;
  std::int64_t disk_bytes = 0;
  int cpus = 1;
  std::vector<std::string> layers;  // digests; the state knows as many disks
  std::string vmm;                  // "qemu 7.2.22"
  bool kvm = false;
  std::string cpu_model;
  bool readonly_root = false;
  std::map<std::string, std::int64_t> bytes;  // of each file, as `write` found it

  /// not_found when there is no image in the folder; data_loss, failed_precondition (another version).
  static Result<MachineImage> read(const std::string& folder);
  /// Atomic: makes the folder an image.
  Status write(const std::string& folder) const;
  /// The same, and it is one whatever happens to the host: its files are on the disk before the manifest that names them is, and that is on
  /// the disk before this returns.
  Status write_to_disk(const std::string& folder) const;
  /// From now on the folder is none. Idempotent.
  static Status forget(const std::string& folder);
  std::vector<std::string> files() const;
  /// Its files, the folder and a manifest that is there are on the disk, whatever happens to the host.
  Status sync(const std::string& folder) const;
  /// data_loss names a file that isn't there, or hasn't the size that it had. What is in it: plugins/microvm/image_digests.hpp.
  Status check_files(const std::string& folder) const;

 private:
  Status write(const std::string& folder, bool synced) const;
};

/// One file is on the disk; one that isn't there is none.
Status sync_if_there(const std::string& path);

using vmm::clone_file;
using vmm::link_or_copy;

/// Names files in one folder: "disk.7". Numbers are never used twice in the life of the folder's owner.
class FileNames {
 public:
  /// Begins above all numbers that are in the folder.
  static Result<FileNames> in(const std::string& folder);
  std::string next(const std::string& kind) { return kind + "." + std::to_string(++last_); }

 private:
  std::uint64_t last_ = 0;
};

/// Links all files of the image in `from` into `to` under names of `names`; the image as it is there. Not written yet.
/// What fails leaves none of them.
Result<MachineImage> adopt_image(const MachineImage& image, const std::string& from, const std::string& to, FileNames& names);

}  // namespace harena::microvm
