#pragma once
// The descriptor-based mount API (fsopen(2), open_tree(2), move_mount(2), mount_setattr(2); Linux 5.12+) as functions that
// return owned descriptors. A mount that is only a descriptor isn't visible anywhere and goes away with it.

#include <string>
#include <utility>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {

/// Options as for mount(8) -o: {"size", "64m"}; an empty value is a flag.
using MountOptions = std::vector<std::pair<std::string, std::string>>;

/// Bits of mount attributes; the numbers are the kernel's MOUNT_ATTR_*.
enum MountAttribute : unsigned {
  kMountReadOnly = 0x1,
  kMountNoSuid = 0x2,
  kMountNoDev = 0x4,
  kMountNoExec = 0x8,
};

/// Mounts a new instance of `type` and returns it as a detached mount. The error carries the kernel's own words
/// (the file-system context's log) when it has some.
Result<UniqueFd> new_filesystem(const std::string& type, const MountOptions& options, unsigned attributes);
/// A detached copy of the mount at at/path (of that directory or file alone, without mounts below it).
Result<UniqueFd> clone_mount(int at, const std::string& path);
/// The same with everything that is mounted below it.
Result<UniqueFd> clone_mount_tree(int at, const std::string& path);
/// Puts a detached mount at at/path. An empty path means `at` itself.
Status attach_mount(int mount_fd, int at, const std::string& path);
/// Adds attributes to a detached mount.
Status restrict_mount(int mount_fd, unsigned attributes);
/// Makes owners of files appear through the mapping of the user namespace; only for a detached mount that nobody has seen.
/// unimplemented where the file system can't (the message names it).
Status idmap_mount(int mount_fd, int user_namespace_fd);
/// Unmounts lazily, never through a symlink; succeeds when nothing is mounted there.
Status detach_mount(const std::string& path);

/// One line of mountinfo (proc(5)).
struct MountEntry {
  std::string root;
  std::string mount_point;
  std::string options;
  std::string type;
  std::string source;
  std::string super_options;
};
/// The mounts that process `pid` sees ("self" works).
Result<std::vector<MountEntry>> mount_table(const std::string& pid = "self");

}  // namespace harena
