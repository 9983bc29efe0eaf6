#pragma once
// Everything that is mounted in a sandbox beside its root: /proc with masks, /sys, /dev, tmpfs; and the move into it.
// prepare_tree makes what no request changes, so that it can be done before there is one; enter_root_tree the rest.
// Runs in the process that becomes the sandbox's init, still with the host's privileges: the mount namespace and the
// file systems belong to the host's user namespace, so nobody inside can remount, unmount or cover any of it.

#include <span>

#include "plugins/container/launcher/protocol.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::container {

/// What is the same for every sandbox, mounted over the namespace's own /proc, /sys and /dev with their masks, and a small folder
/// (tmpfs) at `spot` to make the root file system in.
struct BlankTree {
  UniqueFd proc, sys, dev, scratch;
};

/// Call it in the new pid, net, ipc and uts namespaces and in a mount namespace of its own, a copy of the seed. `tools` is a detached
/// mount, -1: none. `spot`: a folder of the namespace to mount on.
Result<BlankTree> prepare_tree(const BlankRequest& blank, int tools, const std::string& spot);
/// `root` and `of_host` (in the order of request.mount_targets) are detached mounts. Afterwards "/" is the sandbox's and nothing else is
/// reachable.
Status enter_root_tree(const SandboxRequest& request, const BlankTree& tree, int root, std::span<const UniqueFd> of_host,
                       const std::string& spot);

}  // namespace harena::container
