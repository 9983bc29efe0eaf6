#pragma once
// TagFolder: references and the digests they name. One file a tag, `tags/<sha256 of the reference>` with both inside,
// replaced atomically; so a change costs one small file however many tags there are, and no reference is a path.
// All are held in memory as well, read once at the start.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/imagestore-local/files.hpp"

namespace harena::imagestore {

inline constexpr std::size_t kMaxReferenceBytes = 512;

struct Tag {
  std::string reference;
  std::string digest;
};

/// UTF-8, 1 to 512 bytes, no control characters, not like a digest: invalid_argument otherwise.
Status check_reference(std::string_view reference);

/// Thread-safe.
class TagFolder {
 public:
  /// Reads all tags. A file that can't be understood is left alone and named in `damaged`.
  static Result<std::unique_ptr<TagFolder>> load(UniqueFd tags, UniqueFd temporary, std::vector<std::string>* damaged);

  /// Those after `cursor` that begin with `prefix`, ordered by bytes.
  std::vector<Tag> list(std::string_view prefix, std::string_view cursor, std::size_t limit) const;
  /// not_found names the reference.
  Result<std::string> resolve(std::string_view reference) const;
  /// Atomic and durable. `before` runs under the lock that remove_blob takes too; its error ends the call.
  Status set(std::string_view reference, std::string_view digest, const std::function<Status()>& before);
  /// Idempotent.
  Status remove(std::string_view reference);
  /// Runs `remove` unless a tag names `digest`: failed_precondition names one.
  Status remove_blob(std::string_view digest, const std::function<Status()>& remove);

 private:
  TagFolder(UniqueFd tags, UniqueFd temporary) : tags_(std::move(tags)), temporary_(std::move(temporary)) {}
  bool load_one(const std::string& file_name);

  UniqueFd tags_;
  UniqueFd temporary_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> by_reference_;  // guarded by mutex_
};

}  // namespace harena::imagestore
