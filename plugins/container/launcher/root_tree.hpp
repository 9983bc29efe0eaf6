#pragma once
// Everything that is mounted in a sandbox beside its root: /proc with masks, /sys, /dev, tmpfs; and the move into it.
// Runs in the process that becomes the sandbox's init, still with the host's privileges: the mount namespace and the
// file systems belong to the host's user namespace, so nobody inside can remount, unmount or cover any of it.

#include <span>

#include "plugins/container/launcher/protocol.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::container {

/// Detached mounts, owned by the caller.
struct TreeMounts {
  int root;
  int tools;  // -1: none
  std::span<const int> of_host;  // in the order of SandboxRequest::mount_targets
};

/// The folder `path` (no leading slash) as someone chrooted in `root` would find it, made with its parents where it isn't.
Result<UniqueFd> folder_in_root(int root, const std::string& path, const SandboxRequest& request);

/// Call it in the new pid, net, ipc and uts namespaces and in a mount namespace of its own. `mounts` holds the root,
/// `spot` a folder of the current namespace to put it on. Afterwards "/" is the sandbox's and nothing else is reachable.
Status enter_root_tree(const SandboxRequest& request, const TreeMounts& mounts, const std::string& spot);

}  // namespace harena::container
