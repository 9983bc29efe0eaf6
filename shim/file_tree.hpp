#pragma once
// Paths in the sandbox's tree, resolved by descriptor: openat2 with the sandbox's root as root and no links of /proc. Types are
// looked at before anything is opened for reading or writing.

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/session/file_messages.hpp"

namespace harena::shim {

enum class Links { follow, dont_follow };

/// A folder and a name in it: where something is made, removed or renamed. The name may be missing.
struct Place {
  /// O_PATH.
  UniqueFd folder;
  /// Without slashes, not "." or "..".
  std::string name;
};

class FileTree {
 public:
  /// `proc`: the host's /proc, by which descriptors are opened again (the sandbox's may be anything). Borrowed.
  static Result<FileTree> open(int proc);

  /// O_PATH. Errors name the path.
  Result<UniqueFd> find(const std::string& path, Links links) const;
  /// The parent folder of `path` and its last component.
  Result<Place> place(const std::string& path) const;
  /// The same with a final symlink (a chain of at most 40) followed, also to a name that isn't there.
  Result<Place> final_place(const std::string& path) const;
  /// A regular file for `flags` (O_RDONLY, ...); failed_precondition for anything else.
  Result<UniqueFd> open_file(const std::string& path, int flags) const;
  /// mkdir -p of the path's parent.
  Status make_parents(const std::string& path) const;
  Status make_folders(const std::string& path, mode_t mode) const;
  /// Path of a descriptor's magic link relative to `proc`.
  static std::string link_of(int fd) { return "self/fd/" + std::to_string(fd); }
  int proc() const { return proc_; }

 private:
  UniqueFd root_;
  int proc_ = -1;
};

/// errno_error, and: a full disk or quota has cause limit, detail disk; what is in use or at a bound of the file system is
/// failed_precondition; a race that a repetition wins is aborted.
Error file_error(int errno_value, const std::string& what);
session::FileStat to_file_stat(const struct stat& info, std::string path);
/// With the target if it is a symlink.
Result<session::FileStat> stat_of(int o_path_fd, std::string path);
/// The same with the clock at the look, which goes into FileStat::seen_ns.
Result<session::FileStat> seen_stat_of(int o_path_fd, std::string path);
Error not_regular(const std::string& path, mode_t mode);
Error not_a_folder(const std::string& path);
/// Whether the descriptor is in /proc, /sys or their like, whose files are made as they are read: they tell no size, and no changes.
bool is_made_up(int fd);

}  // namespace harena::shim
