// Operations on names and attributes.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "shim/file_verbs.hpp"
#include "shim/paths.hpp"
#include "shim/remove_tree.hpp"
#include "shim/users.hpp"

namespace harena::shim {
namespace {

Result<std::string> stat_reply(const FileTree& tree, const std::string& path, Links links) {
  HARENA_TRY(auto found, tree.find(path, links));
  HARENA_TRY(auto stat, seen_stat_of(found.get(), path));
  return session::encode(stat);
}

Status check_mode(std::uint32_t mode) {
  if (mode > 07777) return make_error(ErrorCode::invalid_argument, "mode: permission bits 0 to 07777");
  return {};
}

Error no_such_ids(const Identity& owner) {
  return make_error(ErrorCode::invalid_argument,
                    "user " + std::to_string(owner.uid) + " or group " + std::to_string(owner.gid) +
                        " isn't an id of this sandbox; which are is in its /proc/self/uid_map and gid_map");
}

}  // namespace

Result<std::string> stat_file(const FileTree& tree, WorkerChannel&, const session::FilePathRequest& request) {
  return stat_reply(tree, request.path, request.follow ? Links::follow : Links::dont_follow);
}

Result<std::string> read_link_of(const FileTree& tree, WorkerChannel&, const session::FilePathRequest& request) {
  HARENA_TRY(auto found, tree.find(request.path, Links::dont_follow));
  HARENA_TRY(auto stat, stat_of(found.get(), request.path));
  if (stat.type != session::FileType::symlink) {
    return make_error(ErrorCode::failed_precondition, "'" + request.path + "' isn't a symlink");
  }
  return session::encode(stat);
}

Result<std::string> make_folder(const FileTree& tree, WorkerChannel&, const session::FileMkdirRequest& request) {
  HARENA_TRY_STATUS(check_mode(request.mode));
  if (request.parents) HARENA_TRY_STATUS(tree.make_parents(request.path));
  if (request.parents && tree.find(request.path + "/", Links::follow)) return stat_reply(tree, request.path, Links::follow);
  HARENA_TRY(auto where, tree.place(request.path));
  if (::mkdirat(where.folder.get(), where.name.c_str(), request.mode) != 0) {
    // Of two calls at once with parents, both are fine.
    bool made = errno == EEXIST && request.parents && tree.find(request.path + "/", Links::follow).ok();
    if (!made) return file_error(errno, "making folder '" + request.path + "'");
  }
  return stat_reply(tree, request.path, Links::follow);
}

Result<std::string> remove_file(const FileTree& tree, WorkerChannel&, const session::FileRemoveRequest& request) {
  HARENA_TRY(auto where, tree.place(request.path));
  HARENA_TRY_STATUS(remove_tree(where, request.path, request.recursive));
  return std::string();
}

Result<std::string> move_file(const FileTree& tree, WorkerChannel&, const session::FileMoveRequest& request) {
  HARENA_TRY(auto from, tree.place(request.from));
  HARENA_TRY(auto to, tree.place(request.to));
  unsigned flags = request.replace ? 0 : RENAME_NOREPLACE;
  if (::renameat2(from.folder.get(), from.name.c_str(), to.folder.get(), to.name.c_str(), flags) != 0) {
    return file_error(errno, "moving '" + request.from + "' to '" + request.to + "'");
  }
  return stat_reply(tree, request.to, Links::dont_follow);
}

Result<std::string> change_mode(const FileTree& tree, WorkerChannel&, const session::FileChmodRequest& request) {
  HARENA_TRY_STATUS(check_mode(request.mode));
  HARENA_TRY(auto found, tree.find(request.path, Links::dont_follow));
  HARENA_TRY(auto stat, stat_of(found.get(), request.path));
  if (stat.type == session::FileType::symlink) {
    return make_error(ErrorCode::failed_precondition,
                      "'" + request.path + "' is a symlink, which has no mode; name its target '" + stat.target + "'");
  }
  // An O_PATH descriptor can't be chmodded itself; its link in /proc can.
  if (::fchmodat(tree.proc(), FileTree::link_of(found.get()).c_str(), request.mode, 0) != 0) {
    return file_error(errno, "mode of '" + request.path + "'");
  }
  return stat_reply(tree, request.path, Links::dont_follow);
}

Result<std::string> change_owner(const FileTree& tree, WorkerChannel&, const session::FileChownRequest& request) {
  if (request.owner.empty()) return make_error(ErrorCode::invalid_argument, "owner is empty: 'user', 'user:group' or numbers");
  HARENA_TRY(auto owner, resolve_user(request.owner, {}));
  HARENA_TRY(auto found, tree.find(request.path, Links::dont_follow));
  if (::fchownat(found.get(), "", owner.uid, owner.gid, AT_EMPTY_PATH) != 0) {
    if (errno == EINVAL) return no_such_ids(owner);
    return file_error(errno, "owner of '" + request.path + "'");
  }
  return stat_reply(tree, request.path, Links::dont_follow);
}

Result<std::string> make_symlink(const FileTree& tree, WorkerChannel&, const session::FileSymlinkRequest& request) {
  HARENA_TRY_STATUS(check_path(request.target));
  HARENA_TRY(auto where, tree.place(request.path));
  if (::symlinkat(request.target.c_str(), where.folder.get(), where.name.c_str()) != 0) {
    return file_error(errno, "making symlink '" + request.path + "'");
  }
  return stat_reply(tree, request.path, Links::dont_follow);
}

}  // namespace harena::shim
