#include "plugins/container/own_disk.hpp"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sdk/support/files.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena::container {
namespace {

/// By inode: the kernel shows the name that the image had, none, to its end.
bool has_image(const std::string& device, const struct stat& image) {
  UniqueFd opened(::open(device.c_str(), O_RDONLY | O_CLOEXEC));
  loop_info64 info{};
  return opened && ::ioctl(opened.get(), LOOP_GET_STATUS64, &info) == 0 && info.lo_inode == image.st_ino && info.lo_device == image.st_dev;
}

/// "/dev/loop7", of the image at `path`.
Result<std::string> loop_of(const std::string& path) {
  struct stat image{};
  if (::stat(path.c_str(), &image) != 0) {
    return make_error(ErrorCode::failed_precondition, "the sandbox's disk can't be found again: there is no " + path);
  }
  HARENA_TRY(const auto devices, list_directory(AT_FDCWD, "/sys/block"));
  for (const auto& device : devices) {
    if (device.starts_with("loop") && has_image("/dev/" + device, image)) return "/dev/" + device;
  }
  return make_error(ErrorCode::failed_precondition, "no loop device has the image " + path);
}

}  // namespace

Status name_disk(int image, const std::string& state_dir, const RootState& root) {
  const std::string path = state_dir + "/" + root.disk();
  const std::string link = "/proc/self/fd/" + std::to_string(image);
  if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
  // Where the file system has no O_TMPFILE the image can't be named; it works all the same, only it can't be snapshotted.
  return errno == ENOENT ? Status() : Status(errno_error(errno, "name the image of a disk"));
}

Result<UniqueFd> mount_of_disk(const SandboxState& state, const RootState& root) {
  HARENA_TRY(const std::string device, loop_of(state.state_dir + "/" + root.disk()));
  constexpr unsigned kAttributes = kMountReadOnly | kMountNoDev | kMountNoSuid | kMountNoExec;
  return new_filesystem("ext4", {{"source", device}}, kAttributes);
}

}  // namespace harena::container
