#pragma once
// The machine's block devices by the serials that the VMM gave them.

#include <string>

#include "sdk/base/result.hpp"

namespace harena::guest {

/// The longest serial of a virtio block device (VIRTIO_BLK_ID_BYTES).
inline constexpr std::size_t kMaxSerialBytes = 20;

/// "/dev/vdb". not_found names the serial and those that there are; invalid_argument for an empty or overlong one.
Result<std::string> disk_with_serial(const std::string& serial);

}  // namespace harena::guest
