#pragma once
// Disk images that a create names: only below the operator's folders, regular files, and without parents of their own.

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::qemu {

/// The real path of `path` if it is a regular file below one of `roots` (links followed before the check); else invalid_argument, which
/// names parameter, value and the roots.
Result<std::string> file_below(const std::string& parameter, const std::string& path, const std::vector<std::string>& roots);

/// What the guest sees of it, in bytes. `format` is raw or qcow2; a qcow2 with a backing file or an external data file is refused.
Result<std::int64_t> image_size(const std::string& path, const std::string& format);

}  // namespace harena::qemu
