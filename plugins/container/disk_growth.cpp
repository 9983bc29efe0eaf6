#include "plugins/container/disk_growth.hpp"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/loop_device.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena::container {
namespace {

constexpr std::int64_t kGrowthBlock = 4096;
constexpr std::int64_t kGrowthGroupBlocks = 32768;
constexpr std::int64_t kInodeBytes = 256;
/// _IOW('f', 16, __u64) of fs/ext4/ext4.h: the new number of blocks.
constexpr unsigned long kExt4Resize = 0x40086610;
/// Each asks for what the one before left short: the last group is left out when it is too small for its own tables.
constexpr int kAttempts = 4;

Error cannot(const std::string& why) {
  return infrastructure_error(ErrorCode::failed_precondition, "disk", "the disk can't grow: " + why);
}

/// What is open while a disk grows.
struct Disk {
  UniqueFd image;
  LoopDevice loop;
  UniqueFd files;  // the root of its file system
};

/// A second mount of the same file system, which nobody sees; the sandbox's own is in its namespace alone.
Result<Disk> open_disk(const std::string& path) {
  Disk disk;
  disk.image.reset(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!disk.image && errno == ENOENT) return cannot("there is no " + path);
  if (!disk.image) return errno_error(errno, "open " + path);
  HARENA_TRY(disk.loop, find_loop_device(disk.image.get()));
  HARENA_TRY(UniqueFd mount, new_filesystem("ext4", {{"source", disk.loop.path}}, kMountNoDev | kMountNoSuid));
  disk.files.reset(::openat(mount.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!disk.files) return errno_error(errno, "open the disk's file system");
  return disk;
}

struct Size {
  std::int64_t image = 0;             // bytes
  std::int64_t files = 0;             // bytes
  std::int64_t inodes_per_group = 0;
};

Result<Size> size_of(const Disk& disk) {
  struct stat image{};
  struct statfs files{};
  if (::fstat(disk.image.get(), &image) != 0 || ::fstatfs(disk.files.get(), &files) != 0) return errno_error(errno, "look at the disk");
  const std::int64_t groups = std::max<std::int64_t>(1, (image.st_size / kGrowthBlock + kGrowthGroupBlocks - 1) / kGrowthGroupBlocks);
  return Size{image.st_size, static_cast<std::int64_t>(files.f_blocks) * files.f_bsize, static_cast<std::int64_t>(files.f_files) / groups};
}

Status set_image_size(const Disk& disk, std::int64_t bytes) {
  if (::ftruncate(disk.image.get(), bytes) != 0) return errno_error(errno, "size the disk's image");
  fault_point("grow.image");
  if (::ioctl(disk.loop.fd.get(), LOOP_SET_CAPACITY, 0) != 0) return errno_error(errno, "LOOP_SET_CAPACITY");
  fault_point("grow.loop");
  return {};
}

Status set_filesystem_size(const Disk& disk, std::int64_t bytes) {
  const std::uint64_t blocks = static_cast<std::uint64_t>(bytes / kGrowthBlock);
  if (::ioctl(disk.files.get(), kExt4Resize, &blocks) == 0) return {};
  if (errno == EPERM) return cannot("the kernel wants CAP_SYS_RESOURCE for it, which harenad hasn't got here");
  return cannot("ext4 refuses " + std::to_string(blocks) + " blocks (" + errno_error(errno, "EXT4_IOC_RESIZE_FS").message + ")");
}

Status grow_to(const Disk& disk, std::int64_t image_bytes, const Size& before) {
  if (image_bytes > before.image) HARENA_TRY_STATUS(set_image_size(disk, image_bytes));
  Status grown = set_filesystem_size(disk, image_bytes);
  // The file system uses nothing of what was added.
  if (!grown.ok() && image_bytes > before.image) (void)set_image_size(disk, before.image);
  return grown;
}

std::int64_t groups_of(std::int64_t bytes) { return bytes / kGrowthBlock / kGrowthGroupBlocks + 1; }

bool is_power_of(std::int64_t number, std::int64_t base) {
  while (number % base == 0) number /= base;
  return number == 1;
}

}  // namespace

std::int64_t image_bytes_for(std::int64_t bytes, std::int64_t inodes_per_group) {
  const std::int64_t groups = groups_of(bytes);
  const std::int64_t descriptors = (groups * 64 + kGrowthBlock - 1) / kGrowthBlock;
  std::int64_t backups = 1;
  for (std::int64_t g = 1; g < groups; ++g) backups += g == 1 || is_power_of(g, 3) || is_power_of(g, 5) || is_power_of(g, 7);
  const std::int64_t blocks = groups * 2 + backups * (1 + descriptors) + 16;
  return (bytes + kGrowthBlock - 1) / kGrowthBlock * kGrowthBlock + groups * inodes_per_group * kInodeBytes + blocks * kGrowthBlock;
}

Status check_not_larger(const std::string& path, std::int64_t bytes) {
  HARENA_TRY(const auto disk, open_disk(path));
  HARENA_TRY(const Size now, size_of(disk));
  if (now.files <= bytes + bytes / 50) return {};
  return make_error(ErrorCode::invalid_argument, "parameter 'disk' is " + std::to_string(bytes) +
                                                     ": a disk can only grow while it is in use, and has " + std::to_string(now.files));
}

Status grow_disk(const std::string& path, std::int64_t bytes) {
  HARENA_TRY(const auto disk, open_disk(path));
  HARENA_TRY(Size now, size_of(disk));
  if (bytes < now.files) return check_not_larger(path, bytes);
  std::int64_t image_bytes = image_bytes_for(bytes, now.inodes_per_group);
  for (int attempt = 0; attempt < kAttempts && now.files < bytes; ++attempt) {
    HARENA_TRY_STATUS(grow_to(disk, image_bytes, now));
    const std::int64_t per_group = now.inodes_per_group;
    HARENA_TRY(now, size_of(disk));
    now.inodes_per_group = per_group;
    image_bytes += std::max<std::int64_t>(0, bytes - now.files) + per_group * kInodeBytes + 64 * kGrowthBlock;
  }
  if (now.files >= bytes - bytes / 100) return {};
  return cannot("it has room for " + std::to_string(now.files) + " bytes instead of " + std::to_string(bytes));
}

}  // namespace harena::container
