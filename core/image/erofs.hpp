#pragma once
// A folder to an EROFS file, which is what a layer is.
//
// lz4 in clusters of one block: of the sizes and speeds measured on Debian's base with Python, git and a compiler (510 MiB)
// the file becomes 300 MB instead of 504 MB, with the same times to mount, to read everything cold (1.1 s) and warm, and to
// start Python cold; building takes 2.0 s instead of 1.6 s. Larger clusters (276 MB) and lz4hc (232 MB, 11.6 s) start
// programs more slowly or take too long.
//
// Equal folders give equal bytes for one version of mkfs.erofs: fixed UUID and build time, files keep their own times.

#include <cstdint>
#include <filesystem>

#include "core/image/process.hpp"

namespace harena::image {

/// Writes `file` (which must not exist). resource_exhausted when the disk is full, failed_precondition when mkfs.erofs
/// isn't installed, internal with its last line otherwise.
Status make_erofs(ProcessSpawner& spawner, const std::filesystem::path& folder, const std::filesystem::path& file,
                  const Checkpoint& checkpoint);

}  // namespace harena::image
