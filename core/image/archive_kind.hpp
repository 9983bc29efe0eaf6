#pragma once
// What an archive is: a root file system, `docker save`, or a tar of an OCI layout.

#include <filesystem>

#include "core/image/import_source.hpp"

namespace harena::image {

/// Reads names until one tells: `oci-layout` at the top is an OCI archive (newer docker writes both kinds into one file),
/// `manifest.json` without it a docker archive; else a plain tar. Errors: not_found, invalid_argument for what is no archive.
/// Reads the whole file in the worst case. [blocking]
Result<SourceKind> detect_archive(const std::filesystem::path& path);

}  // namespace harena::image
