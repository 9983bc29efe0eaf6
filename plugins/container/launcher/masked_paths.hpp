#pragma once
// What of /proc and /sys no sandbox sees or writes (incidents rows 1 and 9), without the leading slash. The launcher mounts over them; the
// AppArmor profile denies them once more.

#include <vector>

namespace harena::container {

/// Files that read as empty, folders that are empty, and folders that are read-only.
extern const std::vector<const char*> kMaskedFiles;
extern const std::vector<const char*> kMaskedFolders;
extern const std::vector<const char*> kReadOnlyFolders;

}  // namespace harena::container
