#pragma once
// Project quotas (ext4 and XFS mounted with prjquota): what is below a folder counts for a number, and the number has limits.
//
//   HARENA_TRY(auto quota, ProjectQuota::open("/var/lib/harena"));    failed_precondition where there are none
//   HARENA_TRY_STATUS(quota.assign(folder_fd, 4711));                 what is made below from now on counts for 4711
//   HARENA_TRY_STATUS(quota.set(4711, {1 << 30, 65536}));
//
// The kernel lets nobody change a project from a user namespace other than the host's (tests/system proves it), and overlayfs never writes
// beyond a limit, though it writes as root.

#include <cstdint>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {

/// 0 is no limit.
struct ProjectLimits {
  std::int64_t bytes = 0;
  std::int64_t inodes = 0;
};

struct ProjectUsage {
  std::int64_t bytes = 0;
  std::int64_t inodes = 0;
};

/// One file system, thread-safe.
class ProjectQuota {
 public:
  /// failed_precondition when the file system of `folder` doesn't count and enforce projects; the message says how it is mounted then.
  /// Needs Linux 5.14 (quotactl_fd).
  static Result<ProjectQuota> open(const std::string& folder);

  /// The folder and all that is made below it from now on belong to the project. Idempotent.
  Status assign(int folder, std::uint32_t project) const;
  /// The project of a file or folder; 0 is none.
  Result<std::uint32_t> project_of(int file) const;
  Status set(std::uint32_t project, const ProjectLimits& limits) const;
  Result<ProjectUsage> usage(std::uint32_t project) const;

 private:
  explicit ProjectQuota(UniqueFd folder) : folder_(std::move(folder)) {}
  UniqueFd folder_;
};

/// What is made below the folder `to` counts from now on for the project that `from` counts for; for none where that has none, and where the
/// file system has no projects.
Status follow_project(int from, int to);

}  // namespace harena
