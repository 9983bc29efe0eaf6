#include "core/cli/local_tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "sdk/base/random.hpp"
#include "sdk/base/text.hpp"

namespace harena::cli {

namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

std::string temporary_name() {
  SystemRandom random;
  return ".harena-" + random.hex(12) + ".part";
}

std::string joined(const PathParts& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : "/") + part;
  return text;
}

Result<LocalEntry> entry_of(const std::filesystem::path& path, const std::string& relative) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return errno_error(errno, path.string());
  LocalEntry entry{.path = path.string(), .relative = relative, .mode = info.st_mode & 07777, .size = info.st_size};
  if (S_ISREG(info.st_mode)) return entry;
  entry.size = 0;
  if (S_ISDIR(info.st_mode)) {
    entry.kind = LocalEntry::Kind::dir;
    return entry;
  }
  if (S_ISLNK(info.st_mode)) {
    std::error_code failure;
    entry.kind = LocalEntry::Kind::symlink;
    entry.target = std::filesystem::read_symlink(path, failure).string();
    if (failure) return errno_error(failure.value(), path.string());
    return entry;
  }
  return make_error(ErrorCode::invalid_argument, "'" + path.string() + "' is neither a file, a folder nor a symlink; it can't be copied");
}

Status walk_into(const std::filesystem::path& folder, const std::string& prefix, std::vector<LocalEntry>& found) {
  std::error_code failure;
  std::vector<std::filesystem::path> paths;
  for (auto at = std::filesystem::directory_iterator(folder, failure); !failure && at != std::filesystem::directory_iterator();
       at.increment(failure)) {
    paths.push_back(at->path());
  }
  if (failure) return errno_error(failure.value(), folder.string());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    HARENA_TRY(auto entry, entry_of(path, prefix + path.filename().string()));
    const bool folder_too = entry.kind == LocalEntry::Kind::dir;
    const auto relative = entry.relative;
    found.push_back(std::move(entry));
    if (folder_too) HARENA_TRY_STATUS(walk_into(path, relative + "/", found));
  }
  return {};
}

}  // namespace

Result<PathParts> parts_below(const std::string& base, const std::string& path) {
  const auto prefix = base.ends_with('/') ? base : base + "/";
  const auto bad = [&] {
    return make_error(ErrorCode::data_loss, "the sandbox's listing of '" + base + "' names '" + path + "', which isn't a plain path in it");
  };
  if (!path.starts_with(prefix) || path.size() == prefix.size()) return bad();
  auto parts = split(path.substr(prefix.size()), '/');
  for (const auto& part : parts) {
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string::npos) return bad();
  }
  return parts;
}

Result<std::unique_ptr<PendingFile>> PendingFile::create(UniqueFd folder, std::string name, unsigned mode) {
  auto temporary = temporary_name();
  UniqueFd file(::openat(folder.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return errno_error(errno, "creating " + name);
  if (::fchmod(file.get(), mode & 0777) != 0) return errno_error(errno, "setting the mode of " + name);
  return std::unique_ptr<PendingFile>(new PendingFile(std::move(folder), std::move(name), std::move(temporary), std::move(file)));
}

PendingFile::PendingFile(UniqueFd folder, std::string name, std::string temporary, UniqueFd file)
    : folder_(std::move(folder)), name_(std::move(name)), temporary_(std::move(temporary)), file_(std::move(file)) {}

PendingFile::~PendingFile() {
  if (!temporary_.empty()) ::unlinkat(folder_.get(), temporary_.c_str(), 0);
}

Status PendingFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(errno, "writing " + name_);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status PendingFile::write_at(std::int64_t offset, std::string_view bytes) {
  if (::lseek(file_.get(), offset, SEEK_SET) < 0) return errno_error(errno, "writing " + name_);
  return write(bytes);
}

Status PendingFile::set_size(std::int64_t size) {
  if (::ftruncate(file_.get(), size) != 0) return errno_error(errno, "writing " + name_);
  return {};
}

void PendingFile::set_attribute(const char* name, std::string_view value) const {
  [[maybe_unused]] const auto ignored = ::fsetxattr(file_.get(), name, value.data(), value.size(), 0);
}

Status PendingFile::commit() {
  file_.reset();
  if (::renameat(folder_.get(), temporary_.c_str(), folder_.get(), name_.c_str()) != 0) return errno_error(errno, "writing " + name_);
  temporary_.clear();
  return {};
}

Result<LocalTree> LocalTree::open(const std::string& root) {
  std::error_code failure;
  std::filesystem::create_directories(root, failure);
  UniqueFd fd(::open(root.c_str(), kFolderFlags));
  if (!fd) return errno_error(errno, root);
  return LocalTree(std::move(fd));
}

Result<UniqueFd> LocalTree::folder(const PathParts& parts, std::size_t count) const {
  UniqueFd current(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  for (std::size_t at = 0; at < count; ++at) {
    current = UniqueFd(::openat(current.get(), parts[at].c_str(), kFolderFlags | O_NOFOLLOW));
    if (current) continue;
    const int why = errno;
    if (why == ELOOP || why == ENOTDIR) {
      return make_error(ErrorCode::failed_precondition, "'" + joined(parts) + "' leads through '" + parts[at] +
                                                            "', which isn't a folder here; links aren't followed");
    }
    return errno_error(why, joined(parts));
  }
  return current;
}

Status LocalTree::mkdir(const PathParts& parts, unsigned mode) const {
  HARENA_TRY(const auto parent, folder(parts, parts.size() - 1));
  if (::mkdirat(parent.get(), parts.back().c_str(), (mode & 0777) | 0700) == 0) return {};
  if (errno != EEXIST) return errno_error(errno, joined(parts));
  HARENA_TRY_STATUS(folder(parts, parts.size()));  // that it is one, and no link
  return {};
}

Status LocalTree::chmod(const PathParts& parts, unsigned mode) const {
  HARENA_TRY(const auto there, folder(parts, parts.size()));
  if (::fchmod(there.get(), mode & 0777) != 0) return errno_error(errno, joined(parts));
  return {};
}

Status LocalTree::symlink(const PathParts& parts, const std::string& target) const {
  HARENA_TRY(const auto parent, folder(parts, parts.size() - 1));
  const auto temporary = temporary_name();
  if (::symlinkat(target.c_str(), parent.get(), temporary.c_str()) != 0) return errno_error(errno, joined(parts));
  if (::renameat(parent.get(), temporary.c_str(), parent.get(), parts.back().c_str()) == 0) return {};
  const int why = errno;
  ::unlinkat(parent.get(), temporary.c_str(), 0);
  return errno_error(why, joined(parts));
}

Status LocalTree::link(const PathParts& existing, const PathParts& parts) const {
  if (existing.empty()) return make_error(ErrorCode::data_loss, "'" + joined(parts) + "' is a hard link to the folder itself");
  HARENA_TRY(const auto from, folder(existing, existing.size() - 1));
  HARENA_TRY(const auto parent, folder(parts, parts.size() - 1));
  const auto temporary = temporary_name();
  if (::linkat(from.get(), existing.back().c_str(), parent.get(), temporary.c_str(), 0) != 0) return errno_error(errno, joined(existing));
  const bool moved = ::renameat(parent.get(), temporary.c_str(), parent.get(), parts.back().c_str()) == 0;
  const int why = errno;
  ::unlinkat(parent.get(), temporary.c_str(), 0);  // rename(2) leaves it where both are the same file already
  if (!moved) return errno_error(why, joined(parts));
  return {};
}

Result<std::unique_ptr<PendingFile>> LocalTree::create(const PathParts& parts, unsigned mode) const {
  HARENA_TRY(auto parent, folder(parts, parts.size() - 1));
  return PendingFile::create(std::move(parent), parts.back(), mode);
}

Result<std::unique_ptr<PendingFile>> create_local_file(const std::string& path, unsigned mode) {
  const std::filesystem::path whole(path);
  const auto folder = whole.has_parent_path() ? whole.parent_path().string() : ".";
  UniqueFd fd(::open(folder.c_str(), kFolderFlags));
  if (!fd) return errno_error(errno, folder);
  return PendingFile::create(std::move(fd), whole.filename().string(), mode);
}

Result<std::vector<LocalEntry>> walk(const std::string& root) {
  std::vector<LocalEntry> found;
  HARENA_TRY_STATUS(walk_into(root, "", found));
  return found;
}

}  // namespace harena::cli
