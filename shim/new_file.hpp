#pragma once
// A file that becomes visible whole or not at all.

#include <string>

#include "shim/file_tree.hpp"

namespace harena::shim {

enum class Replace { existing, nothing };

/// Made by O_TMPFILE where the file system can, else under a name that is removed again. Whatever ends this process, nothing
/// is left: an unnamed file goes with its descriptor, a name is known to the shim before it's made (leftovers.hpp).
class NewFile {
 public:
  /// Borrows `tree` and `folder` (O_PATH). `leftovers`: WorkerChannel::leftovers(). `shown`: for errors.
  static Result<NewFile> create(const FileTree& tree, int leftovers, int folder, const std::string& shown);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  /// Write-only.
  int fd() const { return fd_.get(); }
  /// Gives it its name, replacing what is there (but a folder: failed_precondition), or already_exists.
  Status publish(const std::string& name, Replace replace);

 private:
  NewFile(const FileTree& tree, int leftovers, int folder) : tree_(tree), leftovers_(leftovers), folder_(folder) {}
  Status link_as(const std::string& name) const;

  const FileTree& tree_;
  int leftovers_;
  int folder_;
  UniqueFd fd_;
  std::string name_;
};

/// A name for `folder` that nobody uses, announced to the shim: ".harena-upload-" and 16 characters.
Result<std::string> temporary_name(int leftovers, int folder);

/// Renames `temporary` over `name` in the same folder. On an error the temporary name is still there.
Status rename_over(int folder, const std::string& temporary, const std::string& name, Replace replace);

}  // namespace harena::shim
