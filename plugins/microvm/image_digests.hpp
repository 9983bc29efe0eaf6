#pragma once
// digests.json beside a machine image (machine/machine_image.hpp): what its files were when it was sealed, so
// that whoever starts from it later, elsewhere, or from a copy knows that they still are that. A file is
// hashed in chunks: one that is fetched piece by piece can be checked so.
//
//   {"harena_image_digests": 1, "chunk_bytes": 4194304, "digest": SHA-256 of this document without "digest",
//    "files": {"ram.1": {"bytes": N, "stamp": [inode, mtime in ns],
//                        "chunks": [64 hexadecimal digits, or "" for zeros alone, ...]}, "manifest.json": ...}}
//
// Files of an image never change. One that has its size and its stamp still is the one that was hashed, and
// isn't read again; a copy, a file that was restored from a backup or written to is.

#include <cstdint>
#include <functional>
#include <string>

#include "sdk/base/result.hpp"

namespace harena::microvm {

inline constexpr std::int64_t kDigestChunkBytes = 4 << 20;
inline constexpr const char* kDigestsFile = "digests.json";

/// Whether it has digests. An empty file, as a host leaves it that lost its power before they were on the disk, is none.
bool is_sealed(const std::string& folder);

/// Brings the image's files to the disk, hashes them and writes digests.json; atomic, on the disk when it returns, idempotent, by any number at once. [blocking]
/// for as long as it takes to read them; `go_on` is asked for each chunk, cancelled when it says no.
Status seal_image(const std::string& folder, const std::function<bool()>& go_on);

enum class Verify { changed, all };
/// Of a sealed image: data_loss names the file that isn't what it was, and where. With `changed` only files
/// with another stamp are read, and an image that isn't sealed yet is well; with `all` that is
/// failed_precondition. What was found well gets its new stamps.
Status verify_image(const std::string& folder, Verify what);

}  // namespace harena::microvm
