#include "plugins/container/sandbox_folders.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <utility>

#include "plugins/container/root_change.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

constexpr int kBacklog = 1024;

Status remove_parts(const SandboxState& state, std::initializer_list<const char*> names) {
  if (state.state_dir.empty()) return {};
  auto folder = open_directory(AT_FDCWD, state.state_dir);
  if (!folder.ok()) return {};  // gone already
  for (const char* name : names) HARENA_TRY_STATUS(remove_tree_at(folder->get(), name));
  return {};
}

}  // namespace

Result<UniqueFd> listen_at(const std::string& endpoint) {
  if (endpoint.size() >= sizeof(sockaddr_un::sun_path)) {
    return make_error(ErrorCode::failed_precondition, "the session socket's path " + endpoint + " has " + std::to_string(endpoint.size()) +
                                                          " bytes; the kernel allows 107: use a shorter run directory");
  }
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error(errno, "socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  endpoint.copy(address.sun_path, sizeof address.sun_path - 1);
  // Mode of the socket from the start: no umask games in a process with threads.
  ::fchmod(socket.get(), 0600);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return errno_error(errno, "bind " + endpoint);
  if (::listen(socket.get(), kBacklog) != 0) return errno_error(errno, "listen on " + endpoint);
  return socket;
}

Status make_upper_and_work(int folder, std::uint32_t first_id) {
  constexpr unsigned kMode = 0755;
  for (const char* name : {"u", "w"}) {
    HARENA_TRY(UniqueFd made, ensure_directory(folder, name, kMode));
    if (::fchmod(made.get(), kMode) != 0 || ::fchown(made.get(), first_id, first_id) != 0) return errno_error(errno, "chown the upper folder");
  }
  return {};
}

Status make_session_folder(const std::string& state_dir) {
  HARENA_TRY(UniqueFd state, open_directory(AT_FDCWD, state_dir));
  HARENA_TRY(UniqueFd made, ensure_directory(state.get(), "session", 0700));
  return {};
}

Status make_folders(const std::string& state_dir, std::uint32_t first_id) {
  HARENA_TRY(UniqueFd state, open_directory(AT_FDCWD, state_dir));
  HARENA_TRY_STATUS(make_upper_and_work(state.get(), first_id));
  return make_session_folder(state_dir);
}

Status remove_upper(const SandboxState& state) { return state.state_dir.empty() ? Status() : remove_roots(state.state_dir); }

Status remove_session(const SandboxState& state) {
  if (!state.endpoint.empty()) ::unlink(state.endpoint.c_str());
  return remove_parts(state, {"session"});
}

void spread_folders_in(const std::string& folder) {
  auto opened = open_directory(AT_FDCWD, folder);
  int flags = 0;
  if (!opened.ok() || ::ioctl(opened->get(), FS_IOC_GETFLAGS, &flags) != 0 || (flags & FS_TOPDIR_FL) != 0) return;
  flags |= FS_TOPDIR_FL;
  (void)::ioctl(opened->get(), FS_IOC_SETFLAGS, &flags);
}

}  // namespace harena::container
