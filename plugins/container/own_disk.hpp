#pragma once
// The image of a sandbox that has a disk of its own: found again while it is mounted.

#include <string>

#include "plugins/container/root_state.hpp"
#include "plugins/container/sandbox_state.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::container {

/// Gives the image, which was made without a name, the one of `root` in state_dir. It goes with the sandbox's folders, or earlier.
Status name_disk(int image, const std::string& state_dir, const RootState& root);
/// The file system that a living sandbox writes to, as a mount of one's own: nothing is mounted twice, the kernel knows the device.
/// failed_precondition when there is no loop device of the image.
Result<UniqueFd> mount_of_disk(const SandboxState& state, const RootState& root);

}  // namespace harena::container
