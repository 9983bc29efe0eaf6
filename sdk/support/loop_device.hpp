#pragma once
// Loop devices: for images that the kernel can't mount from the file itself.

#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {

struct LoopDevice {
  /// Keep it open until the device is mounted: with the last user gone the kernel frees the device (autoclear).
  UniqueFd fd;
  /// "/dev/loop7"
  std::string path;
};

enum class LoopAccess { read_only, read_write };

/// Binds a free device to the image, autoclear, with direct I/O where the file below can.
/// resource_exhausted when there is no free device. Needs /dev/loop-control.
Result<LoopDevice> attach_loop_device(int image_fd, LoopAccess access);

/// The device that the image is bound to; not_found when there is none.
Result<LoopDevice> find_loop_device(int image_fd);

}  // namespace harena
