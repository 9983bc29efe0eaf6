#pragma once
// What of /proc and /sys no sandbox sees or writes (incidents rows 1 and 9), without the leading slash. Containers' launcher and
// guests' agent mount over them; the containers' AppArmor profile denies them once more.

#include <vector>

namespace harena {

/// Files that read as empty, folders that are empty, and folders that are read-only.
extern const std::vector<const char*> kMaskedFiles;
extern const std::vector<const char*> kMaskedFolders;
extern const std::vector<const char*> kReadOnlyFolders;

}  // namespace harena
