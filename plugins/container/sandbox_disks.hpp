#pragma once
// The limit of what a sandbox writes: a project quota on the host's file system where that has them, else a file system of its own.
//
// A quota costs a few calls and no mount, is shared room until it is used, and can become larger and smaller; an image works on every file
// system. The one interface for both: nobody else asks which of them a sandbox has.

#include <cstdint>
#include <optional>
#include <string>

#include "plugins/container/disk_pool.hpp"
#include "sdk/support/project_quota.hpp"

namespace harena::container {

/// The setting `disk`.
enum class DiskMode { automatic, project_quota, image };
/// invalid_argument names those that there are.
Result<DiskMode> disk_mode(const std::string& text);

/// A sandbox as far as its disk goes.
struct DiskPlace {
  std::string state_dir;       // with its folders u and w
  std::uint32_t first_id = 0;  // of its id range, which is its project's number too: no other sandbox of the machine has it
};

/// Thread-safe.
class SandboxDisks {
 public:
  /// `ready`: so many images are kept mounted in advance (disk_pool.hpp).
  SandboxDisks(DiskMode mode, std::size_t ready) : mode_(mode), pool_(images_, ready, kIdle) {}

  /// A disk for the launcher, or none: then the folders have their quota already. `inodes` 0: one for 16 KiB, at least 1024.
  /// failed_precondition when this host can do neither, or not what the setting says.
  Result<SandboxDisk> make(const DiskPlace& place, std::int64_t bytes, std::int64_t inodes);
  /// An image in any case.
  Result<UniqueFd> make_image(const DiskPlace& place, std::int64_t bytes, std::int64_t inodes);
  /// The limit becomes `bytes` while the disk is in use; a quota takes it as it comes, an image can only grow (disk_growth.hpp).
  /// failed_precondition with cause limit when more is in use than would be left: names the use.
  Status resize(const DiskPlace& place, std::int64_t bytes, std::int64_t inodes) const;
  /// Before a resize changes anything else: whether it can be that small. As resize has it.
  Status check_size(const DiskPlace& place, std::int64_t bytes) const;
  /// Whether its files count for a quota: then they stay where they are, since a file that is moved goes on counting.
  bool counted(const DiskPlace& place) const;
  /// What a quota counts; nullopt for an image and for none.
  std::optional<ProjectUsage> usage(const DiskPlace& place) const;
  /// The quota is nobody's any more. Idempotent.
  void release(const DiskPlace& place) const;

  /// How many disks are ready.
  std::size_t ready() const { return pool_.ready(); }

 private:
  Result<SandboxDisk> image_disk(const DiskPlace& place, std::int64_t bytes, std::int64_t inodes);

  /// How long disks wait for the next create with one of their size.
  static constexpr std::chrono::minutes kIdle{1};

  const DiskMode mode_;
  DiskImages images_;
  DiskPool pool_;
};

}  // namespace harena::container
