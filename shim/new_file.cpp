#include "shim/new_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "sdk/base/random.hpp"
#include "shim/leftovers.hpp"

namespace harena::shim {

Result<std::string> temporary_name(int leftovers, int folder) {
  SystemRandom random;
  std::string name = ".harena-upload-" + random.base36(16);
  HARENA_TRY_STATUS(announce_leftover(leftovers, folder, name));
  return name;
}

Status rename_over(int folder, const std::string& temporary, const std::string& name, Replace replace) {
  unsigned flags = replace == Replace::nothing ? RENAME_NOREPLACE : 0;
  if (::renameat2(folder, temporary.c_str(), folder, name.c_str(), flags) == 0) return {};
  return file_error(errno, "naming '" + name + "'");
}

Result<NewFile> NewFile::create(const FileTree& tree, int leftovers, int folder, const std::string& shown) {
  NewFile file(tree, leftovers, folder);
  file.fd_ = UniqueFd(::openat(tree.proc(), FileTree::link_of(folder).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (file.fd_) return file;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) return file_error(errno, "making a file for '" + shown + "'");
  HARENA_TRY(file.name_, temporary_name(leftovers, folder));
  file.fd_ = UniqueFd(::openat(folder, file.name_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.fd_) return file;
  int number = errno;
  file.name_.clear();
  return file_error(number, "making a file for '" + shown + "'");
}

NewFile::NewFile(NewFile&& other) noexcept
    : tree_(other.tree_),
      leftovers_(other.leftovers_),
      folder_(other.folder_),
      fd_(std::move(other.fd_)),
      name_(std::exchange(other.name_, {})) {}

NewFile::~NewFile() {
  if (!name_.empty()) ::unlinkat(folder_, name_.c_str(), 0);
}

Status NewFile::publish(const std::string& name, Replace replace) {
  if (name_.empty() && replace == Replace::nothing) return link_as(name);
  if (name_.empty()) {
    HARENA_TRY(auto temporary, temporary_name(leftovers_, folder_));
    HARENA_TRY_STATUS(link_as(temporary));
    name_ = std::move(temporary);
  }
  HARENA_TRY_STATUS(rename_over(folder_, name_, name, replace));
  name_.clear();
  return {};
}

Status NewFile::link_as(const std::string& name) const {
  // An unnamed file has no other way to a name without rights of root (AT_EMPTY_PATH needs them).
  if (::linkat(tree_.proc(), FileTree::link_of(fd_.get()).c_str(), folder_, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
  return file_error(errno, "naming '" + name + "'");
}

}  // namespace harena::shim
