#pragma once
// What the sandbox sees as its file system: the overlay of its layers, its own proc, sys and dev, and nothing of the initramfs.

#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/session/tunnel/agent_messages.hpp"

namespace harena::guest {

/// Where the trusted tools are inside.
inline constexpr const char* kToolsPath = "/dev/trusted";
/// Where the initramfs has them.
inline constexpr const char* kToolsFolder = "/tools";

/// The EROFS disks as one overlay with the writable disk on top (writable_disk.hpp), owners mapped into `user_namespace`. A detached mount.
Result<UniqueFd> make_overlay(const session::ConfigureRequest& request, int user_namespace);

/// Mounts the rest into `root` and makes it the root of the calling process's mount namespace. For the sandbox's init, in its own mount,
/// pid, net and uts namespaces, still with all rights.
Status enter_root_tree(const session::ConfigureRequest& request, int root);

}  // namespace harena::guest
