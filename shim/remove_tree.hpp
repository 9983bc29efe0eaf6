#pragma once
#include <string>
#include <vector>

#include "shim/file_tree.hpp"

namespace harena::shim {

/// Removes `where`; never follows a symlink, never crosses a mount (EBUSY there: failed_precondition). Any depth:
/// folders are entered by descriptor, and what lies too deep is first moved up inside the tree.
Status remove_tree(const Place& where, const std::string& shown, bool recursive);

/// Names in a folder, without "." and "..", sorted by bytes. resource_exhausted over a million.
Result<std::vector<std::string>> folder_names(int folder, const std::string& shown);

}  // namespace harena::shim
