#pragma once
// BlobFolder: content-addressed files `blobs/sha256/<64 hex>`, mode 0400.
//
// A blob appears under its name complete and durable or not at all: it is written and hashed into a temporary file on
// the same file system, flushed, and linked to its name; link(2) fails when the name is taken, so of concurrent puts of
// the same bytes one wins and the others find it there.

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/imagestore-local/files.hpp"

namespace harena::imagestore {

inline constexpr std::string_view kDigestPrefix = "sha256:";

struct Blob {
  std::string digest;
  std::int64_t size = 0;
};

/// The 64 hexadecimal digits of "sha256:..."; invalid_argument for anything else, so that no digest is a path.
Result<std::string> digest_hex(std::string_view digest);

/// Thread-safe.
class BlobFolder {
 public:
  /// Takes the folder of the blobs and one for unfinished files on the same file system.
  BlobFolder(UniqueFd blobs, UniqueFd temporary) : blobs_(std::move(blobs)), temporary_(std::move(temporary)) {}

  /// Reads a regular file from its start (its offset stays), anything else to its end. data_loss when
  /// `expected_digest` isn't empty and differs; resource_exhausted when the disk is full; nothing stays then.
  /// A blob that check() found damaged is replaced.
  Result<Blob> put(std::string_view expected_digest, int borrow_fd, const Checkpoint& checkpoint);
  /// not_found names the digest.
  Result<Blob> stat(std::string_view digest) const;
  /// The file's name within the folder of the blobs. Idempotent.
  Status remove(std::string_view digest);
  /// Ordered by digest, those after `cursor`.
  Result<std::vector<Blob>> list(std::string_view cursor, std::size_t limit) const;
  /// True when the bytes still have the digest. not_found; errors of the checkpoint.
  Result<bool> check(std::string_view digest, const Checkpoint& checkpoint);

 private:
  Result<Blob> adopt(TemporaryFile& file, const std::string& hex, std::int64_t size);
  bool is_damaged(const std::string& hex) const;
  void note_damage(const std::string& hex, bool damaged);

  UniqueFd blobs_;
  UniqueFd temporary_;
  mutable std::mutex mutex_;
  std::set<std::string> damaged_;  // guarded by mutex_
};

}  // namespace harena::imagestore
