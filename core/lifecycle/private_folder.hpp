#pragma once
// Folders of sandboxes and snapshots.

#include <string>

#include "sdk/base/result.hpp"

namespace harena {

/// Makes the folder with mode 0700, and those above it where they are missing: it holds a sandbox's output and its upper layer, and is
/// nobody else's. An error, one for a folder that is there already among them, has the cause infrastructure, detail "disk".
Status make_private_folder(const std::string& path);

}  // namespace harena
