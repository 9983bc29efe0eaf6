#include "plugins/container/sandbox_disks.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>

#include "plugins/container/disk_growth.hpp"
#include "plugins/container/root_state.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

constexpr std::int64_t kBytesPerInode = 16384;
constexpr std::int64_t kFewestInodes = 1024;
/// The folders of the overlay themselves, which the user wasn't promised to pay for.
constexpr std::int64_t kOwnBytes = 64 << 10;
constexpr std::int64_t kOwnInodes = 8;

ProjectLimits limits_for(std::int64_t bytes, std::int64_t inodes) {
  if (inodes == 0) inodes = std::max(kFewestInodes, bytes / kBytesPerInode);
  return {bytes + kOwnBytes, inodes + kOwnInodes};
}

/// Both in one project: overlayfs moves files from the work folder to the upper, which the kernel refuses across projects.
Status assign_folders(const ProjectQuota& quota, const DiskPlace& place) {
  HARENA_TRY(UniqueFd state, open_directory(AT_FDCWD, place.state_dir));
  for (const char* name : {"u", "w"}) {
    HARENA_TRY(UniqueFd folder, open_directory(state.get(), name));
    HARENA_TRY_STATUS(quota.assign(folder.get(), place.first_id));
  }
  return {};
}

/// XFS takes the files of an ended sandbox from its project in a worker of its own, a moment after they are gone; looking makes it hurry.
Result<ProjectUsage> usage_when_settled(const ProjectQuota& quota, std::uint32_t project) {
  constexpr int kLooks = 20, kPauseMs = 5;
  for (int look = 1;; ++look) {
    HARENA_TRY(const auto used, quota.usage(project));
    if (used.bytes == 0 || look == kLooks) return used;
    ::poll(nullptr, 0, kPauseMs);
  }
}

Status make_quota(const ProjectQuota& quota, const DiskPlace& place, std::int64_t bytes, std::int64_t inodes) {
  HARENA_TRY_STATUS(quota.set(place.first_id, limits_for(bytes, inodes)));
  return assign_folders(quota, place);
}

/// Nullopt when the sandbox's upper counts for no project.
std::optional<ProjectQuota> quota_of(const DiskPlace& place) {
  if (place.first_id == 0) return std::nullopt;
  const auto root = RootRecord::read(place.state_dir);
  if (!root.ok()) return std::nullopt;
  auto upper = open_directory(AT_FDCWD, place.state_dir + "/" + root->now.upper);
  if (!upper.ok()) return std::nullopt;
  auto quota = ProjectQuota::open(place.state_dir);
  if (!quota.ok()) return std::nullopt;
  const auto project = quota->project_of(upper->get());
  return project.ok() && *project == place.first_id ? std::optional(std::move(*quota)) : std::nullopt;
}

Result<std::string> image_of(const DiskPlace& place) {
  HARENA_TRY(const auto root, RootRecord::read(place.state_dir));
  return place.state_dir + "/" + root.now.disk();
}

Error in_use(std::int64_t bytes, std::int64_t used) {
  Error error = make_error(ErrorCode::failed_precondition, "the disk can't be " + std::to_string(bytes) + " bytes: " + std::to_string(used) +
                                                               " are in use; remove files first");
  error.cause = Cause::limit;
  error.cause_detail = "disk";
  return error;
}

}  // namespace

Result<DiskMode> disk_mode(const std::string& text) {
  if (text == "auto") return DiskMode::automatic;
  if (text == "project-quota") return DiskMode::project_quota;
  if (text == "image") return DiskMode::image;
  return make_error(ErrorCode::invalid_argument, "disk is '" + text + "'; right are auto, project-quota and image");
}

Result<UniqueFd> SandboxDisks::make_image(const DiskPlace& place, std::int64_t bytes, std::int64_t inodes) {
  return images_.make(bytes, inodes, place.state_dir);
}

Result<SandboxDisk> SandboxDisks::image_disk(const DiskPlace& place, std::int64_t bytes, std::int64_t inodes) {
  std::string beside = place.state_dir;
  while (beside.size() > 1 && beside.back() == '/') beside.pop_back();
  beside.resize(beside.rfind('/') + 1);
  if (auto ready = pool_.take(bytes, inodes, beside)) return *std::move(ready);
  HARENA_TRY(UniqueFd image, make_image(place, bytes, inodes));
  return SandboxDisk{std::move(image), {}};
}

Result<SandboxDisk> SandboxDisks::make(const DiskPlace& place, std::int64_t bytes, std::int64_t inodes) {
  if (mode_ == DiskMode::image) return image_disk(place, bytes, inodes);
  auto quota = ProjectQuota::open(place.state_dir);
  if (!quota.ok() && mode_ == DiskMode::project_quota) return std::move(quota).error();
  if (!quota.ok()) return image_disk(place, bytes, inodes);
  HARENA_TRY(const auto before, usage_when_settled(*quota, place.first_id));
  // A layer that was made of an earlier sandbox's files counts for its project still: this one would pay for it.
  if (before.bytes != 0) return image_disk(place, bytes, inodes);
  HARENA_TRY_STATUS(make_quota(*quota, place, bytes, inodes));
  return SandboxDisk();
}

Status SandboxDisks::check_size(const DiskPlace& place, std::int64_t bytes) const {
  const auto quota = quota_of(place);
  if (!quota) {
    HARENA_TRY(const auto image, image_of(place));
    return check_not_larger(image, bytes);
  }
  HARENA_TRY(const auto used, quota->usage(place.first_id));
  return used.bytes <= bytes + kOwnBytes ? Status() : Status(in_use(bytes, used.bytes));
}

Status SandboxDisks::resize(const DiskPlace& place, std::int64_t bytes, std::int64_t inodes) const {
  const auto quota = quota_of(place);
  if (!quota) {
    HARENA_TRY(const auto image, image_of(place));
    return grow_disk(image, bytes);
  }
  HARENA_TRY_STATUS(check_size(place, bytes));
  return quota->set(place.first_id, limits_for(bytes, inodes));
}

bool SandboxDisks::counted(const DiskPlace& place) const { return quota_of(place).has_value(); }

std::optional<ProjectUsage> SandboxDisks::usage(const DiskPlace& place) const {
  const auto quota = quota_of(place);
  if (!quota) return std::nullopt;
  auto used = quota->usage(place.first_id);
  return used.ok() ? std::optional(*used) : std::nullopt;
}

void SandboxDisks::release(const DiskPlace& place) const {
  if (const auto quota = quota_of(place)) (void)quota->set(place.first_id, {});
}

}  // namespace harena::container
