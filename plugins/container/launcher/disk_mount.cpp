#include "plugins/container/launcher/disk_mount.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "sdk/support/loop_device.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena::container {

Result<UniqueFd> mount_disk_image(int image) {
  constexpr unsigned kAttributes = kMountNoDev | kMountNoSuid;
  HARENA_TRY(LoopDevice loop, attach_loop_device(image, LoopAccess::read_write));
  // No journal: what a crash leaves of it is thrown away. `discard`: what is deleted inside comes back to the host.
  return new_filesystem("ext4", {{"source", loop.path}, {"noinit_itable", ""}, {"discard", ""}, {"errors", "remount-ro"}}, kAttributes);
}

Result<UniqueFd> mount_of_disk_or_image(int disk) {
  struct stat info{};
  if (::fstat(disk, &info) != 0) return errno_error(errno, "look at a disk");
  if (!S_ISDIR(info.st_mode)) return mount_disk_image(disk);
  UniqueFd own(::fcntl(disk, F_DUPFD_CLOEXEC, 3));
  if (!own) return errno_error(errno, "fcntl");
  return own;
}

}  // namespace harena::container
