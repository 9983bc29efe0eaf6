#include "shim/file_worker.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "sdk/session/hello.hpp"
#include "sdk/support/landlock.hpp"
#include "shim/file_verbs.hpp"
#include "shim/spawn.hpp"
#include "shim/users.hpp"

namespace harena::shim {

using session::FrameType;

namespace {

Status enter(const Sandbox& sandbox, const std::string& user) {
  HARENA_TRY_STATUS(sandbox.die_with_shim());
  HARENA_TRY_STATUS(sandbox.join_shared_cgroups());
  HARENA_TRY_STATUS(sandbox.join_counting_cgroups());
  HARENA_TRY_STATUS(sandbox.enter_for_files());
  ::umask(0);
  bool myself = !sandbox.has_namespaces() && user.empty();
  if (!myself) {
    HARENA_TRY(auto identity, resolve_user(user, {}));
    HARENA_TRY_STATUS(become(identity));
  }
  // It reads names, archives and attributes that the agent wrote.
  if (sandbox.has_namespaces()) HARENA_TRY_STATUS(confine_file_helper());
  return sandbox.die_with_shim();
}

/// Enter, decode, do. `ok` carries what the verb returns.
template <class Request>
Status perform(const Sandbox& sandbox, WorkerChannel& channel, std::string_view payload, FileVerb<Request> verb) {
  HARENA_TRY(auto request, session::decode<Request>(payload, session::UnknownKeys::refuse));
  HARENA_TRY_STATUS(enter(sandbox, request.user));
  HARENA_TRY(auto tree, FileTree::open(sandbox.host_proc_fd()));
  HARENA_TRY(auto reply, verb(tree, channel, request));
  if (!channel.send(FrameType::ok, reply)) return make_error(ErrorCode::unavailable, "the client has left");
  return {};
}

Status dispatch(const Sandbox& sandbox, WorkerChannel& channel, FrameType type, std::string_view payload) {
  switch (type) {
    case FrameType::file_read: return perform<session::FileReadRequest>(sandbox, channel, payload, &read_file);
    case FrameType::file_write: return perform<session::FileWriteRequest>(sandbox, channel, payload, &write_file);
    case FrameType::file_list: return perform<session::FileListRequest>(sandbox, channel, payload, &list_files);
    case FrameType::file_stat_get: return perform<session::FilePathRequest>(sandbox, channel, payload, &stat_file);
    case FrameType::file_readlink: return perform<session::FilePathRequest>(sandbox, channel, payload, &read_link_of);
    case FrameType::file_mkdir: return perform<session::FileMkdirRequest>(sandbox, channel, payload, &make_folder);
    case FrameType::file_remove: return perform<session::FileRemoveRequest>(sandbox, channel, payload, &remove_file);
    case FrameType::file_move: return perform<session::FileMoveRequest>(sandbox, channel, payload, &move_file);
    case FrameType::file_chmod: return perform<session::FileChmodRequest>(sandbox, channel, payload, &change_mode);
    case FrameType::file_chown: return perform<session::FileChownRequest>(sandbox, channel, payload, &change_owner);
    case FrameType::file_symlink: return perform<session::FileSymlinkRequest>(sandbox, channel, payload, &make_symlink);
    case FrameType::file_truncate: return perform<session::FileTruncateRequest>(sandbox, channel, payload, &truncate_file);
    case FrameType::file_xattr_list: return perform<session::FileXattrListRequest>(sandbox, channel, payload, &list_xattrs);
    case FrameType::file_xattr_set: return perform<session::FileXattrSetRequest>(sandbox, channel, payload, &set_xattr);
    case FrameType::file_xattr_remove: return perform<session::FileXattrRemoveRequest>(sandbox, channel, payload, &remove_xattr);
    case FrameType::file_watch: return perform<session::FileWatchRequest>(sandbox, channel, payload, &watch_files);
    case FrameType::file_archive_read: return perform<session::FileArchiveReadRequest>(sandbox, channel, payload, &read_archive);
    case FrameType::file_archive_write: return perform<session::FileArchiveWriteRequest>(sandbox, channel, payload, &write_archive);
    default: return make_error(ErrorCode::unimplemented, "file operation '" + session::to_string(type) + "'");
  }
}

bool sends_data(FrameType type, std::string_view payload) {
  if (type == FrameType::file_write || type == FrameType::file_archive_write) return true;
  if (type != FrameType::file_read) return false;
  auto request = session::decode<session::FileReadRequest>(payload);
  return request && request->ask;
}

}  // namespace

bool run_file_worker(const Sandbox& sandbox, WorkerLines lines, std::string rest, FrameType type, std::string_view payload) {
  std::vector<int> kept = sandbox.descriptors_for_children();
  kept.push_back(lines.socket);
  if (lines.leftovers >= 0) kept.push_back(lines.leftovers);
  close_all_but(std::move(kept));
  WorkerChannel channel(lines.socket, std::move(rest), lines.leftovers);
  auto status = dispatch(sandbox, channel, type, payload);
  if (status) return true;
  // With its init the sandbox is gone: what failed then says nothing about the request.
  if (::getppid() != sandbox.shim_pid() || is_death_of_shim(status.error())) return false;
  bool sent = channel.send(FrameType::error, session::encode_error(status.error()));
  // While the client still had something to send, its next frames belong to no operation: the connection ends.
  return sent && !sends_data(type, payload) && !channel.broken();
}

}  // namespace harena::shim
