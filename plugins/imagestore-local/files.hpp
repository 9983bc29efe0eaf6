#pragma once
// Durable file operations relative to a folder's descriptor. All are blocking; no function follows a symbolic link in
// the last component.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::imagestore {

/// Asked now and then by long work; an error ends it.
using Checkpoint = std::function<Status()>;

/// An errno of the store's own file system, as a fault of the infrastructure part `image-store`. Disk full
/// (ENOSPC, EDQUOT) says what would help.
Error store_error(int errno_value, const std::string& what);

/// Opens `name` below `parent` as a folder; makes it first (mode 0700) when it isn't there.
Result<UniqueFd> ensure_folder(int parent, const std::string& name);
/// The names in a folder without . and .., unsorted.
Result<std::vector<std::string>> names_in(int folder);
/// fsync(2).
Status flush(int fd, const std::string& what);
/// All bytes are written or an error is returned.
Status write_all(int fd, std::string_view bytes, const std::string& what);
/// At most `limit` bytes of a regular file; failed_precondition for a larger one.
Result<std::string> read_small_file(int folder, const std::string& name, std::size_t limit);

/// A new file in a folder for unfinished work; unlinked when this is destroyed.
class TemporaryFile {
 public:
  /// The name is unique among processes and threads (random, O_EXCL). Mode 0600.
  static Result<TemporaryFile> create(int borrow_folder);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }
  int folder() const { return folder_; }

 private:
  TemporaryFile(int folder, std::string name, UniqueFd fd) : folder_(folder), name_(std::move(name)), fd_(std::move(fd)) {}
  int folder_;
  std::string name_;
  UniqueFd fd_;
};

/// Makes `bytes` the content of folder/name: temporary file, fsync, rename, fsync of the folder. Atomic and durable.
Status replace_file(int temporary_folder, int folder, const std::string& name, std::string_view bytes);

}  // namespace harena::imagestore
