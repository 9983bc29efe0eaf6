#pragma once
// Paths as bytes, before any of them is resolved: pure functions, for a fuzz target too. What they give is still a path of the sandbox's tree, and
// only openat2 with the sandbox's root says what it means.

#include <string>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::shim {

/// invalid_argument: empty, over kMaxPathBytes, a NUL inside.
Status check_path(const std::string& path);

/// `path` without the slashes at its end; "/" stays.
std::string strip_slashes(std::string path);

struct SplitPath {
  /// "/" when the path has one component alone.
  std::string parent;
  /// Without slashes, not "." or "..".
  std::string name;
};
/// invalid_argument, as check_path(), and when the path doesn't end in a name ("/", "a/..", "a/.").
Result<SplitPath> split_path(const std::string& path);

/// Where a symlink at `path` with `target` leads, as a path: a relative target is below the link's folder.
std::string behind_link(const std::string& path, const std::string& target);

/// The components of an archive entry's path: "." and empty ones dropped, so that none means the folder itself.
/// invalid_argument for an absolute path, a ".." and a NUL.
Result<std::vector<std::string>> inside_path(const std::string& path);

}  // namespace harena::shim
