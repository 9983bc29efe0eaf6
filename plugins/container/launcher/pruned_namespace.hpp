#pragma once
// Two mount namespaces for the launcher. Copying a namespace costs 1.2 us a mount under one global lock, and a mount that is
// held here can't be unmounted on the host: so both have only what is needed.
//
//   seed      "/" (without what is mounted below), the mounts that cover the folders asked for, a fresh /proc, /dev. Shims live
//             in it, and every sandbox's own namespace begins as a copy of it.
//   launcher  a copy of the seed and a private tmpfs at `work`, where layers are mounted. Builders come from it.

#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::container {

struct PrunedNamespace {
  /// The seed, for setns(2).
  UniqueFd seed;
  /// The launcher's own, for setns(2) back into it.
  UniqueFd own;
  /// The tmpfs of the launcher's namespace.
  std::string work;
};

/// Moves the calling process (single-threaded, root) into the launcher's namespace. Nothing changes for others.
Result<PrunedNamespace> enter_pruned_namespace(const std::vector<std::string>& roots, const std::string& work);

/// The folder of "/mnt", "/media", "/srv", "/tmp" that exists and holds none of `roots`: a place to mount on.
Result<std::string> find_mount_spot(const std::vector<std::string>& roots);

/// Of a mount table: the mount points, outermost first, that cover `path`, without "/".
std::vector<std::string> covering_mounts(const std::vector<std::string>& mount_points, const std::string& path);

}  // namespace harena::container
