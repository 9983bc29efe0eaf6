#include "shim/tar_extractor.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "shim/paths.hpp"
#include "shim/xattrs.hpp"

namespace harena::shim {
namespace {

Error invalid_entry(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

UniqueFd open_beneath(int folder, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how)));
}

std::array<timespec, 2> times_of(const TarEntry& entry) {
  return {timespec{0, UTIME_OMIT}, timespec{entry.mtime_s, static_cast<long>(entry.mtime_ns)}};
}

/// Owner and time of a symlink, which has no mode.
Status dress_symlink(const TarEntry& entry, int folder, const std::string& name) {
  auto uid = static_cast<uid_t>(entry.uid);
  auto gid = static_cast<gid_t>(entry.gid);
  if (::geteuid() == 0 && ::fchownat(folder, name.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) != 0) {
    return file_error(errno, "owner of the symlink");
  }
  auto times = times_of(entry);
  if (::utimensat(folder, name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0) return file_error(errno, "time of the symlink");
  return {};
}

std::string joined(const std::vector<std::string>& parts, std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count; ++i) path += (i == 0 ? "" : "/") + parts[i];
  return path;
}

/// The folder of `parts` but the last, if it is there.
UniqueFd parent_of(int folder, const std::vector<std::string>& parts) {
  if (parts.size() == 1) return UniqueFd(::fcntl(folder, F_DUPFD_CLOEXEC, 3));
  return open_beneath(folder, joined(parts, parts.size() - 1), O_PATH | O_DIRECTORY);
}

Status is_free_for(const Place& where) {
  struct stat info{};
  if (::fstatat(where.folder.get(), where.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode)) return {};
  return make_error(ErrorCode::failed_precondition, "a folder of that name is there");
}

}  // namespace

TarExtractor::TarExtractor(const FileTree& tree, int leftovers, int folder)
    : tree_(tree), leftovers_(leftovers), folder_(folder) {}

Status TarExtractor::begin(const TarEntry& entry) {
  auto opened = open(entry);
  if (opened) return opened;
  Error error = std::move(opened).error();
  auto before = std::to_string(totals_.entries) + " entries were extracted before it";
  error.message = "entry '" + entry.path + "': " + error.message + "; " + before;
  return error;
}

Status TarExtractor::open(const TarEntry& entry) {
  if (entry.kind == TarKind::other) return invalid_entry("it is a device, a FIFO or of an unknown type; files, folders and links are extracted");
  HARENA_TRY(auto parts, inside_path(entry.path));
  if (entry.kind == TarKind::folder) return make_folder(entry, parts);
  if (parts.empty()) return invalid_entry("it is the folder itself, but not a folder");
  HARENA_TRY(auto where, place_of(parts));
  HARENA_TRY_STATUS(is_free_for(where));
  if (entry.kind == TarKind::symlink) return make_symlink(entry, where);
  if (entry.kind == TarKind::hard_link) return make_link(entry, where);
  HARENA_TRY(auto file, NewFile::create(tree_, leftovers_, where.folder.get(), entry.path));
  target_.emplace(Target{std::move(where), std::move(file)});
  return {};
}

Result<UniqueFd> TarExtractor::enter(int folder, const std::string& name) const {
  auto inside = open_beneath(folder, name, O_PATH | O_DIRECTORY);
  if (inside) return inside;
  if (errno == ELOOP) return invalid_entry("its path leads through the symlink '" + name + "'");
  // A symlink is "not a directory" to O_DIRECTORY on some kernels.
  struct stat info{};
  if (errno == ENOTDIR && ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode)) {
    return invalid_entry("its path leads through the symlink '" + name + "'");
  }
  return file_error(errno, "folder '" + name + "'");
}

Result<Place> TarExtractor::place_of(const std::vector<std::string>& parts) const {
  // Most of the time it is there.
  Place place{parent_of(folder_, parts), parts.back()};
  if (place.folder) return place;
  place.folder.reset(::fcntl(folder_, F_DUPFD_CLOEXEC, 3));
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    int made = ::mkdirat(place.folder.get(), parts[i].c_str(), 0755);
    if (made != 0 && errno != EEXIST) return file_error(errno, "making folder '" + parts[i] + "'");
    HARENA_TRY(place.folder, enter(place.folder.get(), parts[i]));
  }
  return place;
}

Status TarExtractor::make_folder(const TarEntry& entry, const std::vector<std::string>& parts) {
  // Of the folder itself, whose attributes are its owner's business.
  if (parts.empty()) return {};
  HARENA_TRY(auto where, place_of(parts));
  if (::mkdirat(where.folder.get(), where.name.c_str(), 0755) != 0 && errno != EEXIST) return file_error(errno, "making the folder");
  HARENA_TRY_STATUS(enter(where.folder.get(), where.name));
  folders_.push_back(entry);
  folders_.back().path = joined(parts, parts.size());
  return {};
}

Status TarExtractor::make_symlink(const TarEntry& entry, const Place& where) const {
  if (entry.target.empty()) return invalid_entry("it is a symlink without a target");
  int folder = where.folder.get();
  HARENA_TRY(auto temporary, temporary_name(leftovers_, folder));
  if (::symlinkat(entry.target.c_str(), folder, temporary.c_str()) != 0) return file_error(errno, "making the symlink");
  auto status = dress_symlink(entry, folder, temporary);
  if (status) status = rename_over(folder, temporary, where.name, Replace::existing);
  if (!status) ::unlinkat(folder, temporary.c_str(), 0);
  return status;
}

Status TarExtractor::make_link(const TarEntry& entry, const Place& where) const {
  auto parts = inside_path(entry.target);
  if (!parts || parts->empty()) return invalid_entry("it is a hard link to '" + entry.target + "', which isn't inside of the folder");
  auto folder = parent_of(folder_, *parts);
  if (!folder && (errno == ELOOP || errno == ENOTDIR)) {
    return invalid_entry("it is a hard link to '" + entry.target + "', which leads through a symlink or a file");
  }
  struct stat info{};
  bool found = folder && ::fstatat(folder.get(), parts->back().c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (!found) return file_error(errno, "the file '" + entry.target + "' that it links to");
  if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) return not_regular(entry.target, info.st_mode);
  HARENA_TRY(auto temporary, temporary_name(leftovers_, where.folder.get()));
  if (::linkat(folder.get(), parts->back().c_str(), where.folder.get(), temporary.c_str(), 0) != 0) {
    return file_error(errno, "linking to '" + entry.target + "'");
  }
  auto status = rename_over(where.folder.get(), temporary, where.name, Replace::existing);
  // rename(2) of one link over another of the same file does nothing.
  ::unlinkat(where.folder.get(), temporary.c_str(), 0);
  return status;
}

Status TarExtractor::data(std::int64_t offset, std::string_view bytes) {
  if (!target_) return {};
  totals_.bytes += bytes.size();
  while (!bytes.empty()) {
    auto wrote = ::pwrite(target_->file.fd(), bytes.data(), bytes.size(), offset);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return file_error(errno, "writing '" + target_->place.name + "'");
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    offset += wrote;
  }
  return {};
}

/// Owner first, for it clears capabilities and set-user-id; the mode behind the attributes, for it may forbid to write.
Status TarExtractor::apply(const TarEntry& entry, int fd) const {
  auto shown = "'" + entry.path + "'";
  if (::geteuid() == 0 && ::fchown(fd, static_cast<uid_t>(entry.uid), static_cast<gid_t>(entry.gid)) != 0) {
    return file_error(errno, "owner of " + shown);
  }
  for (const auto& [name, value] : entry.xattrs) HARENA_TRY_STATUS(put_xattr(tree_, fd, entry.path, name, value));
  if (::fchmod(fd, entry.mode) != 0) return file_error(errno, "mode of " + shown);
  auto times = times_of(entry);
  if (::futimens(fd, times.data()) != 0) return file_error(errno, "time of " + shown);
  return {};
}

Status TarExtractor::end_file(const TarEntry& entry) {
  // A hole at the end.
  if (::ftruncate(target_->file.fd(), entry.size) != 0) return file_error(errno, "length of '" + entry.path + "'");
  HARENA_TRY_STATUS(apply(entry, target_->file.fd()));
  return target_->file.publish(target_->place.name, Replace::existing);
}

Status TarExtractor::end(const TarEntry& entry) {
  if (target_) HARENA_TRY_STATUS(end_file(entry));
  target_.reset();
  ++totals_.entries;
  return {};
}

Status TarExtractor::finish() {
  for (auto entry = folders_.rbegin(); entry != folders_.rend(); ++entry) {
    auto folder = open_beneath(folder_, entry->path, O_RDONLY | O_DIRECTORY);
    if (!folder) return file_error(errno, "folder '" + entry->path + "'");
    HARENA_TRY_STATUS(apply(*entry, folder.get()));
  }
  folders_.clear();
  return {};
}

}  // namespace harena::shim
