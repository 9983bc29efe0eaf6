#pragma once
// lxcfs (https://linuxcontainers.org/lxcfs): files of /proc and /sys that show whoever reads them the limits of its own cgroups.

#include "plugins/container/launcher/protocol.hpp"

namespace harena::container {

/// Binds request.lxcfs below `root` (the sandbox's root, with /proc and /sys in it). Call it while the host's tree is still "/".
/// A file that lxcfs doesn't answer for any more (it has died) is left out: the host's figures are better than none.
Status mount_lxcfs(const BlankRequest& request, int root);

}  // namespace harena::container
