#pragma once
// FolderReader: the entries of a folder on disk, ordered by name, without crossing into other file systems and
// without following symbolic links. The folder's own attributes come first, as ".".

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/image/entry.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::image {

class FolderReader final : public EntryReader {
 public:
  /// not_found or failed_precondition (no folder) name the path.
  static Result<std::unique_ptr<FolderReader>> open(const std::filesystem::path& folder);

  Result<bool> next(FileEntry& entry) override;
  Status copy_content(int borrow_fd, const Checkpoint& checkpoint) override;

 private:
  struct Level {
    UniqueFd folder;
    std::string prefix;              ///< "" or "a/b/"
    std::vector<std::string> names;  ///< to come, last first
  };
  FolderReader(std::string name, std::uint64_t device) : name_(std::move(name)), device_(device) {}
  Status descend(UniqueFd folder, std::string prefix);
  Result<bool> describe(Level& level, const std::string& name, FileEntry& entry);
  Error failed(int errno_value, const std::string& what) const;

  std::string name_;
  std::uint64_t device_;
  std::vector<Level> levels_;
  bool started_ = false;
  UniqueFd pending_;  ///< the folder that was given last, to be descended into
  std::string pending_prefix_;
  UniqueFd content_;  ///< the file that was given last
  std::map<std::uint64_t, std::string> first_names_;  ///< inode to path, of files with several names
};

}  // namespace harena::image
