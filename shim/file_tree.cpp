#include "shim/file_tree.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "sdk/base/text.hpp"
#include "shim/paths.hpp"

namespace harena::shim {

using session::FileType;

namespace {

constexpr int kMaxLinks = 40;

UniqueFd open_inside(int root, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0;; ++attempt) {
    long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
    // EAGAIN: a rename happened meanwhile and the kernel couldn't prove that ".." stayed inside.
    if (fd >= 0 || errno != EAGAIN || attempt == 100) return UniqueFd(static_cast<int>(fd));
  }
}

std::string read_link(int folder, const std::string& name) {
  std::array<char, PATH_MAX> buffer;
  auto length = ::readlinkat(folder, name.c_str(), buffer.data(), buffer.size());
  return std::string(buffer.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
}

FileType type_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return FileType::file;
    case S_IFDIR: return FileType::directory;
    case S_IFLNK: return FileType::symlink;
    case S_IFIFO: return FileType::fifo;
    case S_IFSOCK: return FileType::socket;
    case S_IFCHR: return FileType::character;
    case S_IFBLK: return FileType::block;
    default: return FileType::unknown;
  }
}

}  // namespace

Error file_error(int errno_value, const std::string& what) {
  Error error = errno_error(errno_value, what);
  switch (errno_value) {
    case ENOSPC: case EDQUOT:
      error.cause = Cause::limit;
      error.cause_detail = "disk";
      break;
    case ETXTBSY: case EMLINK: case EFBIG: error.code = ErrorCode::failed_precondition; break;
    case ENOTDIR:
      error.cause = Cause::agent;
      error.cause_detail = "not_a_directory";
      break;
    case EAGAIN: case ESTALE: error.code = ErrorCode::aborted; break;
    default: break;
  }
  return error;
}

session::FileStat to_file_stat(const struct stat& info, std::string path) {
  session::FileStat stat;
  stat.path = std::move(path);
  stat.type = type_of(info.st_mode);
  stat.mode = info.st_mode & 07777;
  stat.uid = info.st_uid;
  stat.gid = info.st_gid;
  stat.size = static_cast<std::uint64_t>(info.st_size);
  stat.mtime_ns = static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
  stat.inode = info.st_ino;
  stat.links = info.st_nlink;
  stat.ctime_ns = static_cast<std::int64_t>(info.st_ctim.tv_sec) * 1'000'000'000 + info.st_ctim.tv_nsec;
  return stat;
}

Result<session::FileStat> stat_of(int o_path_fd, std::string path) {
  struct stat info{};
  if (::fstat(o_path_fd, &info) != 0) return file_error(errno, "stat of '" + path + "'");
  auto stat = to_file_stat(info, std::move(path));
  if (stat.type == FileType::symlink) stat.target = read_link(o_path_fd, "");
  return stat;
}

Result<session::FileStat> seen_stat_of(int o_path_fd, std::string path) {
  // The clock that file systems stamp with, and before the look: a change behind it may go unseen, one before it doesn't.
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  HARENA_TRY(auto stat, stat_of(o_path_fd, std::move(path)));
  stat.seen_ns = static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  return stat;
}

Error not_regular(const std::string& path, mode_t mode) {
  auto type = std::string(session::to_string(type_of(mode)));
  if (S_ISCHR(mode) || S_ISBLK(mode)) type += " device";
  return make_error(ErrorCode::failed_precondition, "'" + path + "' is a " + type + ", not a regular file");
}

Error not_a_folder(const std::string& path) { return make_error(ErrorCode::failed_precondition, "'" + path + "' isn't a folder"); }

bool is_made_up(int fd) {
  struct statfs info{};
  if (::fstatfs(fd, &info) != 0) return false;
  switch (static_cast<unsigned long>(info.f_type)) {
    case PROC_SUPER_MAGIC: case SYSFS_MAGIC: case CGROUP_SUPER_MAGIC: case CGROUP2_SUPER_MAGIC: case DEBUGFS_MAGIC: case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
      return true;
    default: return false;
  }
}

Result<FileTree> FileTree::open(int proc) {
  FileTree tree;
  tree.root_ = UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!tree.root_) return file_error(errno, "opening the sandbox's root");
  tree.proc_ = proc;
  return tree;
}

Result<UniqueFd> FileTree::find(const std::string& path, Links links) const {
  HARENA_TRY_STATUS(check_path(path));
  auto fd = open_inside(root_.get(), path, O_PATH | (links == Links::follow ? 0 : O_NOFOLLOW));
  if (!fd) return file_error(errno, "'" + path + "'");
  return fd;
}

Result<Place> FileTree::place(const std::string& path) const {
  HARENA_TRY(auto parts, split_path(path));
  auto folder = open_inside(root_.get(), parts.parent, O_PATH | O_DIRECTORY);
  if (!folder) return file_error(errno, "folder '" + parts.parent + "'");
  return Place{std::move(folder), std::move(parts.name)};
}

Result<Place> FileTree::final_place(const std::string& path) const {
  std::string current = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    HARENA_TRY(auto found, place(current));
    std::string target = read_link(found.folder.get(), found.name);
    if (target.empty()) return found;
    current = behind_link(current, target);
  }
  return make_error(ErrorCode::invalid_argument, "'" + path + "' leads through more than 40 symlinks");
}

Result<UniqueFd> FileTree::open_file(const std::string& path, int flags) const {
  HARENA_TRY(auto found, find(path, Links::follow));
  struct stat info{};
  if (::fstat(found.get(), &info) != 0) return file_error(errno, "stat of '" + path + "'");
  if (!S_ISREG(info.st_mode)) return not_regular(path, info.st_mode);
  // The object that was looked at, not the name, which may mean something else by now.
  UniqueFd file(::openat(proc_, link_of(found.get()).c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) return file_error(errno, "opening '" + path + "'");
  return file;
}

Status FileTree::make_folders(const std::string& path, mode_t mode) const {
  HARENA_TRY_STATUS(check_path(path));
  std::string so_far = path.front() == '/' ? "/" : "";
  for (const auto& part : split(path, '/')) {
    if (part.empty()) continue;
    so_far += part;
    bool exists = static_cast<bool>(open_inside(root_.get(), so_far, O_PATH | O_DIRECTORY));
    if (!exists && part != "." && part != "..") {
      HARENA_TRY(auto where, place(so_far));
      if (::mkdirat(where.folder.get(), where.name.c_str(), mode) != 0 && errno != EEXIST) {
        return file_error(errno, "making folder '" + so_far + "'");
      }
      if (!open_inside(root_.get(), so_far, O_PATH | O_DIRECTORY)) return file_error(errno, "folder '" + so_far + "'");
    }
    so_far += '/';
  }
  return {};
}

Status FileTree::make_parents(const std::string& path) const {
  auto slash = strip_slashes(path).rfind('/');
  if (slash == std::string::npos || slash == 0) return {};
  return make_folders(path.substr(0, slash), 0755);
}

}  // namespace harena::shim
