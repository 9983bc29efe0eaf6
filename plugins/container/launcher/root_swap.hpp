#pragma once
// Another root file system for a sandbox that lives: what it has written becomes a layer below (a snapshot, a fork), or is
// left behind (a rollback). Process ids, namespaces, sessions, /proc, /dev and memory file systems stay as they are.
//
// A mounted overlay can't get another upper. So a new overlay is put on top of the old root, with the same mounts on it, and
// pivot_root(2) makes it the root of everybody at once. Only for a sandbox that stands still and in which nobody but the init
// lives: the kernel changes root and working folder of a process, but not its open files and mappings.
//
// Killed in the middle: before the pivot the old root is still the init's and the new one lies unused on top of it;
// after it the other way round. settle_root() ends either.

#include "plugins/container/launcher/protocol.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/support/process.hpp"

namespace harena::container {

struct SwapContext {
  const SandboxRequest& request;
  std::vector<std::string> layer_paths;  // of the image, lowest first
  ProcessRef init;
  int disk_image = -1;
  std::string scratch_folder;  // for overlay_root
};

/// Call both in a child of the launcher: it ends up in the sandbox's mount namespace.
Status swap_root(const SwapContext& context);
/// Lets go of every root that lies on top of the init's own. Returns the upper's name that is in use.
Result<std::string> settle_root(const ProcessRef& init);

}  // namespace harena::container
