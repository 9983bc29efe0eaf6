#pragma once
// A sandbox's own disk (disk_images.hpp) becomes larger while it is in use.

#include <cstdint>
#include <string>

#include "sdk/base/result.hpp"

namespace harena::container {

/// The file system in the image at `path`, which a sandbox has mounted, gets `bytes` for files (within 1 %): the image, then its loop device, then the ext4 in it,
/// online. Whoever dies in between calls it again. Nothing is done when it has them already.
/// failed_precondition: there is no such disk, this process hasn't got CAP_SYS_RESOURCE, which the kernel wants for it, or the
/// kernel refuses; the disk is as before then.
Status grow_disk(const std::string& path, std::int64_t bytes);

/// invalid_argument when the disk at `path` has more than `bytes`: it doesn't shrink while it is in use.
Status check_not_larger(const std::string& path, std::int64_t bytes);

/// Of an ext4 with `blocks_per_group` and `inodes_per_group`: the size of an image with `bytes` for files.
std::int64_t image_bytes_for(std::int64_t bytes, std::int64_t inodes_per_group);

}  // namespace harena::container
