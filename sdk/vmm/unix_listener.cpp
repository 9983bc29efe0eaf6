#include "sdk/vmm/unix_listener.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace harena::vmm {

Result<UniqueFd> listen_unix(const std::string& path, int type, int backlog) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return make_error(ErrorCode::invalid_argument, "the path " + path + " is too long for a socket (107 bytes)");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error(errno, "socket");
  ::unlink(path.c_str());
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return errno_error(errno, "binding " + path);
  if (::chmod(path.c_str(), 0600) != 0 || ::listen(socket.get(), backlog) != 0) return errno_error(errno, "listening on " + path);
  return socket;
}

UniqueFd accept_own(int listener) {
  UniqueFd peer(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  ucred who{};
  socklen_t size = sizeof who;
  const bool own = peer && ::getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == ::geteuid();
  return own ? std::move(peer) : UniqueFd();
}

}  // namespace harena::vmm
