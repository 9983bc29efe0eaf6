#pragma once
// The sandbox's root file system as a detached overlay mount.
//
// Made by root of the host's user namespace, so that whiteouts and opaque marks are trusted.* attributes, which nobody inside
// can write. Layers are seen through the sandbox's ids (id-mapped clones); the upper holds the sandbox's own ids, so a set-uid
// file in it is worth nothing on the host. `volatile`: a dead sandbox's upper is thrown away, so nothing is synced.
// With a disk, upper and work are on an ext4 of the asked size, whose image has no name: when the last process of the sandbox is gone, so
// are overlay, file system, loop device and image, without anybody's doing.
// The paths that /proc/mounts shows inside are "0:1:...", "s/u", "s/w": relative to a folder that is gone by then.

#include "plugins/container/launcher/protocol.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::container {

/// `layer_paths` lowest first; `disk_image` only if request.disk, else -1; `user_namespace` maps the sandbox's ids; temporary mounts
/// are in `folder` (made and removed).
Result<UniqueFd> mount_overlay_root(const SandboxRequest& request, const std::vector<std::string>& layer_paths,
                                    int disk_image, int user_namespace, const std::string& folder);
/// Removes what mount_overlay_root leaves when its process dies in the middle; nothing to do otherwise.
void clear_overlay_folder(const std::string& folder);

}  // namespace harena::container
