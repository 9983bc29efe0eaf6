#pragma once
// Everything that is mounted in a sandbox beside its root: /proc with masks, /sys, /dev, tmpfs; and the move into it.
// prepare_tree makes what no request changes, so that it can be done before there is one, stage_root what is probably wanted; enter_root_tree the
// rest.
// Runs in the process that becomes the sandbox's init, still with the host's privileges: the mount namespace and the
// file systems belong to the host's user namespace, so nobody inside can remount, unmount or cover any of it.

#include <span>

#include "plugins/container/launcher/overlay_root.hpp"
#include "plugins/container/launcher/protocol.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::container {

/// What is the same for every sandbox, mounted over the namespace's own /proc, /sys and /dev with their masks, and a small folder
/// (tmpfs) at `spot` to make the root file system in.
struct BlankTree {
  UniqueFd proc, sys, dev, scratch;
  std::string machine_cpuinfo;  // behind the views of CPUs; empty: there are none
  UniqueFd staged;              // a root at `spot` with all of the above in it; none before stage_root
};

/// Call it in the new pid, net, ipc and uts namespaces and in a mount namespace of its own, a copy of the seed. `tools` is a detached
/// mount, -1: none. `spot`: a folder of the namespace to mount on.
Result<BlankTree> prepare_tree(const BlankRequest& blank, int tools, const std::string& spot);
/// The root of a sandbox whose request isn't there yet, on these parts; it has everything but names. If another is wanted then, this one is left behind.
Status stage_root(const BlankRequest& blank, const RootParts& parts, BlankTree& tree, const std::string& spot);
/// `root` and `of_host` (in the order of request.mount_targets) are detached mounts; no root where request.staged says that the tree's is meant.
/// Afterwards "/" is the sandbox's and nothing else is reachable.
struct RootMounts {
  const UniqueFd& root;
  std::span<const UniqueFd> of_host;
};
Status enter_root_tree(const SandboxRequest& request, const BlankRequest& blank, const BlankTree& tree, const RootMounts& mounts,
                       const std::string& spot);

}  // namespace harena::container
