#pragma once
// The file system on an image of disk_images.hpp, mounted nowhere yet. Used by the launcher, and by the plugin for disks that it keeps ready.

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::container {

/// A mount in nobody's namespace; file system and loop device are gone with its last user. Borrows `image`. Needs CAP_SYS_ADMIN.
Result<UniqueFd> mount_disk_image(int image);
/// The same of what may be such a mount already: the caller gets a descriptor of its own.
Result<UniqueFd> mount_of_disk_or_image(int disk);

}  // namespace harena::container
