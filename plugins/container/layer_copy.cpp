#include "plugins/container/layer_copy.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <set>
#include <string>
#include <vector>

#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

/// Between two looks at whether the caller still wants it.
constexpr off_t kPiece = 64 << 20;

class Copier {
 public:
  Copier(int layer, int onto, int links, const LayerCopy& how)
      : from_(::fcntl(layer, F_DUPFD_CLOEXEC, 0)), to_(::fcntl(onto, F_DUPFD_CLOEXEC, 0)), links_(links), how_(how) {}
  Result<CopiedLayer> run();

 private:
  struct Level {
    std::vector<std::string> names;
    std::size_t next = 0;
  };
  Status open_level();
  Status leave_level();
  Status entry(const std::string& name);
  Status enter_folder(const std::string& name);
  Status file(const std::string& name, const struct stat& info);
  Status new_file(int folder, const std::string& as, const std::string& name, const struct stat& info);
  Status content(int from, int to, std::int64_t size);
  Status copy_piece(int from, int to, off_t at, std::size_t size);
  Status copy_through(int from, int to, off_t at, std::size_t size);
  Status special(const std::string& name, const struct stat& info);
  Status forget_links();

  UniqueFd from_, to_;  // the folders that the walk is in
  const int links_;
  const LayerCopy& how_;
  std::vector<Level> levels_;
  std::set<std::string> kept_;  // names in links_
  CopiedLayer copied_;
  std::vector<char> buffer_;
};

Result<CopiedLayer> Copier::run() {
  HARENA_TRY_STATUS(open_level());
  while (!levels_.empty()) {
    auto& level = levels_.back();
    if (level.next == level.names.size()) {
      HARENA_TRY_STATUS(leave_level());
      continue;
    }
    HARENA_TRY_STATUS(how_.check());
    const std::string name = level.names[level.next++];  // a copy: the entry may begin a new level
    HARENA_TRY_STATUS(entry(name));
  }
  HARENA_TRY_STATUS(forget_links());
  return copied_;
}

Status Copier::open_level() {
  HARENA_TRY(auto names, list_directory(from_.get(), "."));
  levels_.push_back({std::move(names), 0});
  return {};
}

/// Last of all of a folder's own, when nothing changes its times any more. ".." is safe: nobody moves anything.
Status Copier::leave_level() {
  HARENA_TRY_STATUS(copy_attributes(from_.get(), to_.get(), ".", how_.shift));
  levels_.pop_back();
  if (levels_.empty()) return {};
  HARENA_TRY(from_, open_directory(from_.get(), ".."));
  HARENA_TRY(to_, open_directory(to_.get(), ".."));
  return {};
}

Status Copier::entry(const std::string& name) {
  struct stat info{};
  if (::fstatat(from_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return errno_error(errno, "stat an entry of a layer");
  ++copied_.entries;
  if (S_ISDIR(info.st_mode)) return enter_folder(name);
  HARENA_TRY_STATUS(remove_tree_at(to_.get(), name));
  if (S_ISREG(info.st_mode)) return file(name, info);
  return special(name, info);
}

Status Copier::enter_folder(const std::string& name) {
  HARENA_TRY(UniqueFd from, open_directory(from_.get(), name));
  struct stat there{};
  const bool exists = ::fstatat(to_.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  const bool merges = exists && S_ISDIR(there.st_mode) && !is_opaque(from.get());
  if (exists && !merges) HARENA_TRY_STATUS(remove_tree_at(to_.get(), name));
  HARENA_TRY(UniqueFd to, ensure_directory(to_.get(), name, 0700));
  // What was hidden below a file or a whiteout stays hidden below the folder in its place.
  if (exists && !merges) HARENA_TRY_STATUS(set_opaque(to.get()));
  from_ = std::move(from);
  to_ = std::move(to);
  return open_level();
}

Status Copier::file(const std::string& name, const struct stat& info) {
  if (how_.link) {
    if (::linkat(from_.get(), name.c_str(), to_.get(), name.c_str(), 0) == 0) return {};
    if (errno != EMLINK) return errno_error(errno, "link a file of a layer");
  }
  if (info.st_nlink == 1) return new_file(to_.get(), name, name, info);
  const std::string kept = std::to_string(info.st_dev) + "-" + std::to_string(info.st_ino);
  if (kept_.count(kept) == 0) {
    HARENA_TRY_STATUS(new_file(links_, kept, name, info));
    kept_.insert(kept);
  }
  if (::linkat(links_, kept.c_str(), to_.get(), name.c_str(), 0) != 0) return errno_error(errno, "link a copied file");
  return {};
}

Status Copier::new_file(int folder, const std::string& as, const std::string& name, const struct stat& info) {
  UniqueFd from(::openat(from_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!from) return errno_error(errno, "open a file of a layer");
  UniqueFd to(::openat(folder, as.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!to) return errno_error(errno, "make a file of a layer");
  HARENA_TRY_STATUS(content(from.get(), to.get(), info.st_size));
  if (as == name) return copy_attributes(from_.get(), folder, name, how_.shift);
  // Under another name: over a link in the folder that the attributes are read from, they are found by the same name.
  if (::linkat(folder, as.c_str(), to_.get(), name.c_str(), 0) != 0) return errno_error(errno, "link a copied file");
  HARENA_TRY_STATUS(copy_attributes(from_.get(), to_.get(), name, how_.shift));
  if (::unlinkat(to_.get(), name.c_str(), 0) != 0) return errno_error(errno, "unlink a copied file");
  return {};
}

Status Copier::content(int from, int to, std::int64_t size) {
  if (::ioctl(to, FICLONE, from) == 0) return {};
  if (::ftruncate(to, size) != 0) return errno_error(errno, "size a file of a layer");
  off_t at = 0;
  while (at < size && (at = ::lseek(from, at, SEEK_DATA)) >= 0) {
    const off_t end = ::lseek(from, at, SEEK_HOLE);
    for (; at < end; at += kPiece) {
      HARENA_TRY_STATUS(how_.check());
      HARENA_TRY_STATUS(copy_piece(from, to, at, static_cast<std::size_t>(std::min(end - at, kPiece))));
    }
    at = end;
  }
  return at >= 0 || errno == ENXIO ? Status() : Status(errno_error(errno, "read a file of a layer"));
}

/// In the kernel where both are on one file system.
Status Copier::copy_piece(int from, int to, off_t at, std::size_t size) {
  copied_.bytes += static_cast<std::int64_t>(size);
  for (off_t target = at; size > 0;) {
    const ssize_t done = ::copy_file_range(from, &at, to, &target, size, 0);
    if (done < 0 && errno == EXDEV) return copy_through(from, to, at, size);
    if (done <= 0) return errno_error(done == 0 ? EIO : errno, "copy a file of a layer");
    size -= static_cast<std::size_t>(done);
  }
  return {};
}

Status Copier::copy_through(int from, int to, off_t at, std::size_t size) {
  if (buffer_.empty()) buffer_.resize(256 << 10);
  while (size > 0) {
    const ssize_t got = ::pread(from, buffer_.data(), std::min(size, buffer_.size()), at);
    if (got <= 0) return errno_error(got == 0 ? EIO : errno, "read a file of a layer");
    for (ssize_t put = 0; put < got;) {
      const ssize_t done = ::pwrite(to, buffer_.data() + put, static_cast<std::size_t>(got - put), at + put);
      if (done <= 0) return errno_error(done == 0 ? EIO : errno, "write a file of a layer");
      put += done;
    }
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return {};
}

Status Copier::special(const std::string& name, const struct stat& info) {
  if (S_ISLNK(info.st_mode)) {
    char target[PATH_MAX + 1];
    const ssize_t size = ::readlinkat(from_.get(), name.c_str(), target, PATH_MAX);
    if (size < 0) return errno_error(errno, "read a link of a layer");
    target[size] = '\0';
    if (::symlinkat(target, to_.get(), name.c_str()) != 0) return errno_error(errno, "make a link of a layer");
  } else if (::mknodat(to_.get(), name.c_str(), info.st_mode, info.st_rdev) != 0) {
    return errno_error(errno, "make a special file of a layer");
  }
  return copy_attributes(from_.get(), to_.get(), name, how_.shift);
}

Status Copier::forget_links() {
  for (const auto& name : kept_) {
    if (::unlinkat(links_, name.c_str(), 0) != 0) return errno_error(errno, "forget a copied file");
  }
  return {};
}

}  // namespace

Result<CopiedLayer> lay_onto(int layer, int onto, int links, const LayerCopy& how) {
  return Copier(layer, onto, links, how).run();
}

}  // namespace harena::container
