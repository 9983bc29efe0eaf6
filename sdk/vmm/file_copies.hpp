#pragma once
// Second names and copies of large files: disks and RAM. The targets are made; of one that fails nothing stays.

#include <string>

#include "sdk/base/result.hpp"

namespace harena::vmm {

/// Gives `to` a name for the file `from`, or a copy where that can't be (another file system, too many links).
Status link_or_copy(const std::string& from, const std::string& to);

/// A copy of `from` that shares its blocks where the file system can (FICLONE), else with its holes. Mode 0600.
Status clone_file(const std::string& from, const std::string& to);

/// A copy that holds no block of zeros which the original doesn't hold (holes stay holes). Mode 0600.
Status copy_sparse_file(const std::string& from, const std::string& to);

}  // namespace harena::vmm
