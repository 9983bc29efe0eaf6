#pragma once
// Extended attributes of whatever a descriptor names, O_PATH too.

#include <string>
#include <utility>
#include <vector>

#include "shim/file_tree.hpp"

namespace harena::shim {

using Xattrs = std::vector<std::pair<std::string, std::string>>;

/// All that the caller may see, sorted by name; none where the file system has none. `shown` is for errors.
Result<Xattrs> xattrs_of(const FileTree& tree, int fd, const std::string& shown);
/// Makes or replaces one.
Status put_xattr(const FileTree& tree, int fd, const std::string& shown, const std::string& name, const std::string& value);

}  // namespace harena::shim
