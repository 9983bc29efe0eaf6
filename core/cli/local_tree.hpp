#pragma once
// This machine's side of `cp`.
//
// A sandbox is hostile: its names and links must never lead a write outside the folder that the user named. So everything
// below that folder is opened component by component, and no symlink is followed.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::cli {

using PathParts = std::vector<std::string>;

/// The components of `path` below `base`; `data_loss` when it isn't below it, or isn't plain (".", "..", empty parts).
Result<PathParts> parts_below(const std::string& base, const std::string& path);

/// A file under a temporary name until `commit`; the destructor removes what wasn't committed. Its mode never has the
/// set-user-id bits: the file is this user's, its content the sandbox's.
class PendingFile {
 public:
  static Result<std::unique_ptr<PendingFile>> create(UniqueFd folder, std::string name, unsigned mode);
  ~PendingFile();
  Status write(std::string_view bytes);
  /// At that place; what lies between is a hole.
  Status write_at(std::int64_t offset, std::string_view bytes);
  Status set_size(std::int64_t size);
  /// On a file system that has none it is lost, as with cp.
  void set_attribute(const char* name, std::string_view value) const;
  Status commit();

 private:
  PendingFile(UniqueFd folder, std::string name, std::string temporary, UniqueFd file);
  UniqueFd folder_;
  std::string name_;
  std::string temporary_;
  UniqueFd file_;
};

/// A folder that is written below, and only below. Thread-safe.
class LocalTree {
 public:
  /// Makes the folder if it isn't there.
  static Result<LocalTree> open(const std::string& root);

  Status mkdir(const PathParts& parts, unsigned mode) const;
  Status chmod(const PathParts& parts, unsigned mode) const;
  /// Replaces a file or link that is there.
  Status symlink(const PathParts& parts, const std::string& target) const;
  /// A further name for what is at `existing`, itself if that is a link. Replaces what is there.
  Status link(const PathParts& existing, const PathParts& parts) const;
  Result<std::unique_ptr<PendingFile>> create(const PathParts& parts, unsigned mode) const;

 private:
  explicit LocalTree(UniqueFd root) : root_(std::move(root)) {}
  Result<UniqueFd> folder(const PathParts& parts, std::size_t count) const;
  UniqueFd root_;
};

/// A single file at a path of the user's own choosing.
Result<std::unique_ptr<PendingFile>> create_local_file(const std::string& path, unsigned mode);

struct LocalEntry {
  enum class Kind { file, dir, symlink };
  Kind kind = Kind::file;
  std::string path;
  std::string relative;
  unsigned mode = 0;
  std::int64_t size = 0;
  std::string target;
};

/// Everything below `root`, a folder before what is in it, links as themselves. `invalid_argument` names a socket, FIFO or
/// device: it can't be copied.
Result<std::vector<LocalEntry>> walk(const std::string& root);

}  // namespace harena::cli
