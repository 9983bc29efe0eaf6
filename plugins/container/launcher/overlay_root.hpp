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

/// Detached mounts.
struct RootParts {
  std::vector<UniqueFd> layers;  // lowest first, id-mapped
  UniqueFd writable;             // has u and w
};

/// In the launcher's namespace: clones of the layers that are mounted at the paths, seen through the sandbox's ids, of the request's
/// frozen ones, and what holds upper and work. `disk_image` only if request.disk, else -1.
Result<RootParts> open_root_parts(const SandboxRequest& request, const std::vector<std::string>& layer_paths, int disk_image,
                                 int user_namespace);
/// In the namespace of the sandbox's init: `folder`, an empty one, holds the parts while the overlay is made. They stay mounted there,
/// to be thrown away with the rest of the namespace's first tree: unmounting them one by one costs a grace period each.
Result<UniqueFd> mount_overlay_root(const SandboxRequest& request, const RootParts& parts, int folder);
/// Removes the empty folders that this leaves in the launcher's own namespace when `folder` was in a copy of it (root_swap.hpp).
void clear_overlay_folder(const std::string& folder);

}  // namespace harena::container
