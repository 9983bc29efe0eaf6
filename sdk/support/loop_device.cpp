#include "sdk/support/loop_device.hpp"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>

#include "sdk/support/files.hpp"

namespace harena {
namespace {

/// Another process may take the free number between the two calls: EBUSY, then the next number.
constexpr int kAttempts = 64;

loop_config configuration_for(int image_fd, LoopAccess access) {
  loop_config config{};
  config.fd = static_cast<unsigned>(image_fd);
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
  if (access == LoopAccess::read_only) config.info.lo_flags |= LO_FLAGS_READ_ONLY;
  return config;
}

/// 0, or an errno. Direct I/O isn't possible on every file system; without it the device works too.
int configure(int device, int image_fd, LoopAccess access) {
  loop_config config = configuration_for(image_fd, access);
  if (::ioctl(device, LOOP_CONFIGURE, &config) == 0) return 0;
  if (errno != EINVAL) return errno;
  config.info.lo_flags &= ~static_cast<unsigned>(LO_FLAGS_DIRECT_IO);
  return ::ioctl(device, LOOP_CONFIGURE, &config) == 0 ? 0 : errno;
}

/// Whether the open device serves the file.
bool serves(int device, const struct stat& image) {
  loop_info64 info{};
  return ::ioctl(device, LOOP_GET_STATUS64, &info) == 0 && info.lo_device == image.st_dev && info.lo_inode == image.st_ino;
}

}  // namespace

Result<LoopDevice> find_loop_device(int image_fd) {
  struct stat image{};
  if (::fstat(image_fd, &image) != 0) return errno_error(errno, "look at the image");
  HARENA_TRY(const auto names, list_directory(AT_FDCWD, "/sys/block"));
  for (const auto& name : names) {
    if (!name.starts_with("loop")) continue;
    LoopDevice device{UniqueFd(::open(("/dev/" + name).c_str(), O_RDWR | O_CLOEXEC)), "/dev/" + name};
    if (device.fd && serves(device.fd.get(), image)) return device;
  }
  return make_error(ErrorCode::not_found, "no loop device serves the image");
}

Result<LoopDevice> attach_loop_device(int image_fd, LoopAccess access) {
  UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return errno_error(errno, "open /dev/loop-control");
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return errno_error(errno, "LOOP_CTL_GET_FREE");
    LoopDevice device;
    device.path = "/dev/loop" + std::to_string(number);
    device.fd.reset(::open(device.path.c_str(), (access == LoopAccess::read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC));
    if (!device.fd) return errno_error(errno, "open " + device.path);
    const int error = configure(device.fd.get(), image_fd, access);
    if (error == 0) return device;
    if (error != EBUSY) return errno_error(error, "bind " + device.path + " to the image");
  }
  return make_error(ErrorCode::resource_exhausted, "no free loop device after " + std::to_string(kAttempts) + " attempts");
}

}  // namespace harena
