#include "core/image/folder_reader.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>

namespace harena::image {
namespace {

constexpr std::size_t kChunkBytes = 1 << 20;

EntryType type_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR: return EntryType::folder;
    case S_IFLNK: return EntryType::symlink;
    case S_IFIFO: return EntryType::fifo;
    case S_IFCHR: return EntryType::character_device;
    case S_IFBLK: return EntryType::block_device;
    case S_IFSOCK: return EntryType::socket;
    default: return EntryType::file;
  }
}

Result<std::vector<std::string>> names_descending(int folder) {
  UniqueFd own(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* raw = own ? ::fdopendir(own.get()) : nullptr;
  if (raw == nullptr) return errno_error(errno, "reading a folder");
  (void)own.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(raw, &::closedir);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end(), std::greater<>());
  return names;
}

/// Of `name` itself, also when it is a symlink: there is no lgetxattr relative to a descriptor before 6.13, but a path
/// through /proc/self/fd ends at the name and isn't followed there.
Result<std::vector<std::pair<std::string, std::string>>> xattrs_of(int folder, const std::string& name) {
  const auto path = "/proc/self/fd/" + std::to_string(folder) + "/" + name;
  std::string list(XATTR_LIST_MAX, '\0');
  const auto length = ::llistxattr(path.c_str(), list.data(), list.size());
  std::vector<std::pair<std::string, std::string>> out;
  if (length < 0) return errno == ENOTSUP ? Result<decltype(out)>(out) : Result<decltype(out)>(errno_error(errno, "llistxattr"));
  for (std::size_t at = 0; at < static_cast<std::size_t>(length); at += out.back().first.size() + 1) {
    std::string value(XATTR_SIZE_MAX, '\0');
    const std::string key = list.c_str() + at;
    const auto size = ::lgetxattr(path.c_str(), key.c_str(), value.data(), value.size());
    if (size < 0) return errno_error(errno, "lgetxattr " + key);
    value.resize(static_cast<std::size_t>(size));
    out.emplace_back(key, std::move(value));
  }
  return out;
}

Result<std::string> link_target(int folder, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const auto length = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (length < 0) return errno_error(errno, "readlink");
  target.resize(static_cast<std::size_t>(length));
  return target;
}

void copy_attributes(const struct stat& from, FileEntry& to) {
  to.type = type_of(from.st_mode);
  to.mode = from.st_mode & 07777;
  to.uid = from.st_uid;
  to.gid = from.st_gid;
  to.mtime_s = from.st_mtim.tv_sec;
  to.mtime_ns = static_cast<std::uint32_t>(from.st_mtim.tv_nsec);
  to.size = from.st_size;
  to.device = from.st_rdev;
}

}  // namespace

Error FolderReader::failed(int errno_value, const std::string& what) const {
  return errno_error(errno_value, what + " in '" + name_ + "'");
}

Result<std::unique_ptr<FolderReader>> FolderReader::open(const std::filesystem::path& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "folder '" + folder.string() + "'");
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return errno_error(errno, "folder '" + folder.string() + "'");
  std::unique_ptr<FolderReader> reader(new FolderReader(folder.string(), status.st_dev));
  reader->pending_ = std::move(fd);
  return reader;
}

Status FolderReader::descend(UniqueFd folder, std::string prefix) {
  auto names = names_descending(folder.get());
  if (!names) return std::move(names).error().during("folder '" + name_ + "/" + prefix + "'");
  levels_.push_back({std::move(folder), std::move(prefix), *std::move(names)});
  return ok_status();
}

Result<bool> FolderReader::next(FileEntry& entry) {
  content_.reset();
  if (!started_) {
    started_ = true;
    Level top{UniqueFd(::openat(pending_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), "", {}};
    return describe(top, ".", entry);
  }
  if (pending_) HARENA_TRY_STATUS(descend(std::move(pending_), pending_prefix_));
  while (!levels_.empty()) {
    auto& level = levels_.back();
    if (level.names.empty()) {
      levels_.pop_back();
      continue;
    }
    const auto name = std::move(level.names.back());
    level.names.pop_back();
    HARENA_TRY(const bool taken, describe(level, name, entry));
    if (taken) return true;
  }
  return false;
}

/// False for what vanished meanwhile.
Result<bool> FolderReader::describe(Level& level, const std::string& name, FileEntry& entry) {
  struct stat status{};
  if (::fstatat(level.folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Result<bool>(false) : Result<bool>(failed(errno, "'" + level.prefix + name + "'"));
  }
  entry = FileEntry();
  entry.path = level.prefix + name;
  copy_attributes(status, entry);
  if (entry.type != EntryType::folder && status.st_nlink > 1) {
    const auto [first, is_new] = first_names_.emplace(status.st_ino, entry.path);
    if (!is_new) {
      entry.type = EntryType::hardlink;
      entry.link = first->second;
      return true;
    }
  }
  HARENA_TRY(entry.xattrs, xattrs_of(level.folder.get(), name));
  if (entry.type == EntryType::symlink) {
    HARENA_TRY(entry.link, link_target(level.folder.get(), name));
  }
  if (entry.type == EntryType::file) {
    content_.reset(::openat(level.folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!content_) return failed(errno, "'" + entry.path + "'");
  }
  if (entry.type == EntryType::folder && name != "." && status.st_dev == device_) {
    pending_.reset(::openat(level.folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!pending_) return failed(errno, "'" + entry.path + "'");
    pending_prefix_ = entry.path + "/";
  }
  return true;
}

Status FolderReader::copy_content(int borrow_fd, const Checkpoint& checkpoint) {
  struct stat status{};
  if (::fstat(content_.get(), &status) != 0) return failed(errno, "a file");
  off_t at = 0;
  while ((at = ::lseek(content_.get(), at, SEEK_DATA)) >= 0) {
    const off_t hole = ::lseek(content_.get(), at, SEEK_HOLE);
    off_t to = at;
    while (at < hole) {
      HARENA_TRY_STATUS(checkpoint());
      const auto want = std::min<std::size_t>(static_cast<std::size_t>(hole - at), 16 * kChunkBytes);
      const auto got = ::copy_file_range(content_.get(), &at, borrow_fd, &to, want, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed(errno, "copying a file");
      if (got == 0) break;  // became shorter meanwhile
    }
    if (at < hole) break;
  }
  return ::ftruncate(borrow_fd, status.st_size) == 0 ? ok_status() : Status(failed(errno, "ftruncate"));
}

}  // namespace harena::image
