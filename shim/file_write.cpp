// Writing a regular file, whole or in place.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "shim/file_verbs.hpp"
#include "shim/new_file.hpp"

namespace harena::shim {
namespace {

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return file_error(errno, "writing the file");
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Status receive_into(WorkerChannel& channel, int fd) {
  WorkerChannel::Frame frame;
  for (;;) {
    HARENA_TRY_STATUS(channel.receive_into(frame));
    if (frame.header.type == session::FrameType::data_end) return {};
    if (frame.header.type != session::FrameType::data) {
      auto type = session::to_string(frame.header.type);
      return make_error(ErrorCode::invalid_argument, "session protocol: frame '" + type + "' in an upload");
    }
    HARENA_TRY_STATUS(write_all(fd, frame.payload));
  }
}

Status take_upload(WorkerChannel& channel, int fd) {
  if (!channel.send(session::FrameType::ready, {})) return make_error(ErrorCode::unavailable, "the client has left");
  return receive_into(channel, fd);
}

/// What is there under the name, if it can be replaced.
Result<std::optional<struct stat>> replaceable(const Place& where, const session::FileWriteRequest& request) {
  struct stat old{};
  if (::fstatat(where.folder.get(), where.name.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0) return std::optional<struct stat>();
  if (!S_ISREG(old.st_mode)) return not_regular(request.path, old.st_mode);
  if (request.exclusive) return make_error(ErrorCode::already_exists, "'" + request.path + "' exists");
  return std::optional(old);
}

/// What of the file that is replaced is kept: its mode, and its owner as far as the user may give it away.
Status take_over(const Place& where, const session::FileWriteRequest& request, int fd) {
  HARENA_TRY(auto old, replaceable(where, request));
  if (old && (old->st_uid != ::geteuid() || old->st_gid != ::getegid())) (void)!::fchown(fd, old->st_uid, old->st_gid);
  mode_t mode = request.mode ? *request.mode : old ? old->st_mode & 07777 : 0644;
  if (::fchmod(fd, mode) != 0) return file_error(errno, "mode of '" + request.path + "'");
  return {};
}

Status check_mode(const session::FileWriteRequest& request) {
  if (request.mode && *request.mode > 07777) return make_error(ErrorCode::invalid_argument, "mode: permission bits 0 to 07777");
  return {};
}

/// pwrite in place, from `offset` on; what comes before an interruption stays.
Result<std::string> write_at(const FileTree& tree, WorkerChannel& channel, const session::FileWriteRequest& request) {
  if (request.mode || request.parents || request.exclusive) {
    return make_error(ErrorCode::invalid_argument,
                      "mode, parents and exclusive can't be given with an offset, which writes into the file that is there");
  }
  HARENA_TRY(auto file, tree.open_file(request.path, O_WRONLY));
  HARENA_TRY(auto before, stat_of(file.get(), request.path));
  if (*request.offset > before.size) {
    return make_error(ErrorCode::out_of_range, "offset " + std::to_string(*request.offset) + ": '" + request.path + "' has " +
                                                   std::to_string(before.size) + " bytes; truncate makes it longer");
  }
  if (::lseek(file.get(), static_cast<off_t>(*request.offset), SEEK_SET) < 0) return file_error(errno, "'" + request.path + "'");
  HARENA_TRY_STATUS(take_upload(channel, file.get()));
  HARENA_TRY(auto stat, stat_of(file.get(), request.path));
  return session::encode(stat);
}

}  // namespace

Result<std::string> write_file(const FileTree& tree, WorkerChannel& channel, const session::FileWriteRequest& request) {
  if (request.offset) return write_at(tree, channel, request);
  HARENA_TRY_STATUS(check_mode(request));
  if (request.path.ends_with('/')) return make_error(ErrorCode::invalid_argument, "path '" + request.path + "' is a folder's");
  if (request.parents) HARENA_TRY_STATUS(tree.make_parents(request.path));
  HARENA_TRY(auto where, tree.final_place(request.path));
  // Now, so that what can't be is said before the bytes come; and again behind them, for it may have changed meanwhile.
  HARENA_TRY_STATUS(replaceable(where, request));
  HARENA_TRY(auto file, NewFile::create(tree, channel.leftovers(), where.folder.get(), request.path));
  HARENA_TRY_STATUS(take_upload(channel, file.fd()));
  HARENA_TRY_STATUS(take_over(where, request, file.fd()));
  HARENA_TRY_STATUS(file.publish(where.name, request.exclusive ? Replace::nothing : Replace::existing));
  HARENA_TRY(auto stat, stat_of(file.fd(), request.path));
  return session::encode(stat);
}

Result<std::string> truncate_file(const FileTree& tree, WorkerChannel&, const session::FileTruncateRequest& request) {
  HARENA_TRY(auto file, tree.open_file(request.path, O_WRONLY));
  if (request.size > INT64_MAX) return make_error(ErrorCode::invalid_argument, "size: at most 2^63-1 bytes");
  if (::ftruncate(file.get(), static_cast<off_t>(request.size)) != 0) return file_error(errno, "truncating '" + request.path + "'");
  HARENA_TRY(auto stat, stat_of(file.get(), request.path));
  return session::encode(stat);
}

}  // namespace harena::shim
