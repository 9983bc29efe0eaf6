// Reading and writing whole files.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sdk/base/random.hpp"
#include "shim/file_verbs.hpp"

namespace harena::shim {
namespace {

constexpr std::size_t kChunkBytes = 512 << 10;

/// A file that has no name yet: made by O_TMPFILE where the file system can, else under a name that is removed again. Whatever
/// ends this process, an unnamed one leaves nothing.
class NewFile {
 public:
  static Result<NewFile> create(const FileTree& tree, int folder) {
    NewFile file(tree, folder);
    file.fd_ = UniqueFd(::openat(tree.proc(), FileTree::link_of(folder).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (file.fd_) return file;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) return errno_error(errno, "making a file");
    file.name_ = make_name();
    file.fd_ = UniqueFd(::openat(folder, file.name_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.fd_) return errno_error(errno, "making a file");
    return file;
  }
  NewFile(NewFile&& other) noexcept
      : tree_(other.tree_), folder_(other.folder_), fd_(std::move(other.fd_)), name_(std::exchange(other.name_, {})) {}
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile() { remove_name(); }

  int fd() const { return fd_.get(); }

  /// Gives it its name, replacing what is there; or, exclusive, only if there is nothing.
  Status publish(const std::string& name, bool exclusive) {
    if (name_.empty() && exclusive) return link_as(name);
    if (name_.empty()) {
      name_ = make_name();
      HARENA_TRY_STATUS(link_as(name_));
    }
    unsigned flags = exclusive ? RENAME_NOREPLACE : 0;
    if (::renameat2(folder_, name_.c_str(), folder_, name.c_str(), flags) != 0) return errno_error(errno, "naming the file '" + name + "'");
    name_.clear();
    return {};
  }

 private:
  NewFile(const FileTree& tree, int folder) : tree_(tree), folder_(folder) {}

  static std::string make_name() {
    SystemRandom random;
    return ".harena-upload-" + random.base36(16);
  }
  Status link_as(const std::string& name) const {
    if (::linkat(tree_.proc(), FileTree::link_of(fd_.get()).c_str(), folder_, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return errno_error(errno, "naming the file '" + name + "'");
    }
    return {};
  }
  void remove_name() {
    if (!name_.empty()) ::unlinkat(folder_, name_.c_str(), 0);
  }

  const FileTree& tree_;
  int folder_;
  UniqueFd fd_;
  std::string name_;
};

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      int number = errno;
      Error error = errno_error(number, "writing the file");
      if (number == ENOSPC || number == EDQUOT) error.cause = Cause::limit, error.cause_detail = "disk";
      return error;
    }
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Status receive_into(WorkerChannel& channel, int fd) {
  for (;;) {
    HARENA_TRY(auto frame, channel.receive());
    if (frame.header.type == session::FrameType::data_end) return {};
    if (frame.header.type != session::FrameType::data) {
      return make_error(ErrorCode::invalid_argument, "session protocol: frame '" + session::to_string(frame.header.type) + "' in an upload");
    }
    HARENA_TRY_STATUS(write_all(fd, frame.payload));
  }
}

/// What of the file that is replaced is kept: its mode, and its owner as far as the user may give it away.
Status take_over(const Place& where, const session::FileWriteRequest& request, int fd) {
  struct stat old{};
  bool exists = ::fstatat(where.folder.get(), where.name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && !S_ISREG(old.st_mode)) return not_regular(request.path, old.st_mode);
  if (exists && request.exclusive) return make_error(ErrorCode::already_exists, "'" + request.path + "' exists");
  if (exists && (old.st_uid != ::geteuid() || old.st_gid != ::getegid())) (void)!::fchown(fd, old.st_uid, old.st_gid);
  mode_t mode = request.mode ? *request.mode : exists ? old.st_mode & 07777 : 0644;
  if (::fchmod(fd, mode) != 0) return errno_error(errno, "mode of '" + request.path + "'");
  return {};
}

Status check_mode(const session::FileWriteRequest& request) {
  if (request.mode && *request.mode > 07777) return make_error(ErrorCode::invalid_argument, "mode: permission bits 0 to 07777");
  return {};
}

}  // namespace

Result<std::string> read_file(const FileTree& tree, WorkerChannel& channel, const session::FileReadRequest& request) {
  HARENA_TRY(auto file, tree.open_file(request.path, O_RDONLY));
  HARENA_TRY(auto stat, stat_of(file.get(), request.path));
  if (request.offset > stat.size) {
    return make_error(ErrorCode::out_of_range, "offset " + std::to_string(request.offset) + ": '" + request.path + "' has " + std::to_string(stat.size) + " bytes");
  }
  auto left = make_error(ErrorCode::unavailable, "the client has left, or '" + request.path + "' got shorter while it was read");
  if (!channel.send_message(session::FrameType::file_stat, stat)) return left;
  std::uint64_t remaining = std::min(request.length.value_or(UINT64_MAX), stat.size - request.offset);
  for (std::uint64_t offset = request.offset; remaining > 0;) {
    auto chunk = static_cast<std::size_t>(std::min<std::uint64_t>(remaining, kChunkBytes));
    if (!channel.send_file(file.get(), offset, chunk)) return left;
    offset += chunk;
    remaining -= chunk;
  }
  return std::string();
}

Result<std::string> write_file(const FileTree& tree, WorkerChannel& channel, const session::FileWriteRequest& request) {
  HARENA_TRY_STATUS(check_mode(request));
  if (request.path.size() > 0 && request.path.back() == '/') return make_error(ErrorCode::invalid_argument, "path '" + request.path + "' is a folder's");
  if (request.parents) HARENA_TRY_STATUS(tree.make_parents(request.path));
  HARENA_TRY(auto where, tree.final_place(request.path));
  HARENA_TRY(auto file, NewFile::create(tree, where.folder.get()));
  HARENA_TRY_STATUS(take_over(where, request, file.fd()));
  if (!channel.send(session::FrameType::ready, {})) return make_error(ErrorCode::unavailable, "the client has left");
  HARENA_TRY_STATUS(receive_into(channel, file.fd()));
  HARENA_TRY_STATUS(take_over(where, request, file.fd()));
  HARENA_TRY_STATUS(file.publish(where.name, request.exclusive));
  HARENA_TRY(auto stat, stat_of(file.fd(), request.path));
  return session::encode(stat);
}

Result<std::string> truncate_file(const FileTree& tree, WorkerChannel&, const session::FileTruncateRequest& request) {
  HARENA_TRY(auto file, tree.open_file(request.path, O_WRONLY));
  if (request.size > INT64_MAX) return make_error(ErrorCode::invalid_argument, "size: at most 2^63-1 bytes");
  if (::ftruncate(file.get(), static_cast<off_t>(request.size)) != 0) return errno_error(errno, "truncating '" + request.path + "'");
  HARENA_TRY(auto stat, stat_of(file.get(), request.path));
  return session::encode(stat);
}

}  // namespace harena::shim
