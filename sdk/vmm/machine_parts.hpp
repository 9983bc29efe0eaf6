#pragma once
// Small parts of a machine's creation.

#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::vmm {

/// Mode 0700; one that is there stays as it is. Its parent exists.
Status make_folder(const std::string& path);

/// The file of a cgroup (its folder, borrowed) into which a process writes "0" to join it.
Result<UniqueFd> open_procs(int group);

}  // namespace harena::vmm
