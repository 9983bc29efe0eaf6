#pragma once
// LocalStore: an image store in one folder.
//
//   root/version            {"version": 1}; without it a folder that isn't empty is never touched
//   root/lock               locked (flock) by the process that uses the store
//   root/blobs/sha256/HEX   blobs, mode 0400
//   root/tags/HEX           tags
//   root/tmp/               unfinished files; emptied at every start

#include <memory>
#include <string>
#include <vector>

#include "plugins/imagestore-local/blob_folder.hpp"
#include "plugins/imagestore-local/tag_folder.hpp"

namespace harena::imagestore {

/// Thread-safe. One at a time per folder, over all processes.
class LocalStore {
 public:
  /// Opens or makes the store (folders are 0700), removes what an earlier life left unfinished. invalid_argument: `root`
  /// isn't absolute; failed_precondition: used by another process, another version, or a folder of something else.
  static Result<std::unique_ptr<LocalStore>> open(const std::string& root);

  Result<Blob> put(std::string_view expected_digest, int borrow_fd, const Checkpoint& checkpoint) {
    return blobs_->put(expected_digest, borrow_fd, checkpoint);
  }
  Result<Blob> stat(std::string_view digest) const { return blobs_->stat(digest); }
  /// Absolute. Precondition: `digest` is one.
  std::string path_of(std::string_view digest) const;
  Result<std::vector<Blob>> list_blobs(std::string_view cursor, std::size_t limit) const { return blobs_->list(cursor, limit); }
  Result<bool> check(std::string_view digest, const Checkpoint& checkpoint) { return blobs_->check(digest, checkpoint); }

  std::vector<Tag> list(std::string_view prefix, std::string_view cursor, std::size_t limit) const {
    return tags_->list(prefix, cursor, limit);
  }
  Result<std::string> resolve(std::string_view reference) const { return tags_->resolve(reference); }
  /// not_found when `digest` isn't stored; never races with its removal.
  Status tag(std::string_view reference, std::string_view digest);
  /// A reference, or a blob by "sha256:...".
  Status remove(std::string_view reference_or_digest);

  /// Files of tags that couldn't be understood at the start, for one warning.
  const std::vector<std::string>& damaged_tags() const { return damaged_tags_; }

 private:
  LocalStore() = default;
  std::string root_;
  UniqueFd lock_;
  std::unique_ptr<BlobFolder> blobs_;
  std::unique_ptr<TagFolder> tags_;
  std::vector<std::string> damaged_tags_;
};

}  // namespace harena::imagestore
