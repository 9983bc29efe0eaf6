#include "sdk/http/listener.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace harena::http {
namespace asio = boost::asio;
namespace {

constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn
constexpr std::chrono::milliseconds kWaitForResources{50};
constexpr int kSocketFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

Result<UniqueFd> open_socket(int domain) {
  UniqueFd fd(::socket(domain, kSocketFlags, 0));
  if (!fd) return errno_error(errno, "making a listening socket");
  return fd;
}

Error listen_error(const std::string& where) {
  const int code = errno;
  auto error = errno_error(code, "listening on " + where);
  if (code == EADDRINUSE || code == EADDRNOTAVAIL) error.code = ErrorCode::unavailable;
  return error;
}

Result<sockaddr_un> unix_address(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto& text = path.native();
  if (text.empty() || text.size() >= sizeof address.sun_path) {
    return make_error(ErrorCode::invalid_argument, "the socket path '" + text + "' must have 1 to 107 bytes");
  }
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  return address;
}

// A socket file whose process is dead refuses connections; it is removed. Anything else there stays.
Status remove_stale(const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(address.sun_path, &status) != 0) return ok_status();
  if (!S_ISSOCK(status.st_mode)) {
    return make_error(ErrorCode::already_exists, std::string(address.sun_path) + " exists and is no socket");
  }
  HARENA_TRY(const auto probe, open_socket(AF_UNIX));
  const int result = ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (result == 0 || errno != ECONNREFUSED) {
    return make_error(ErrorCode::already_exists, std::string("another process listens on ") + address.sun_path);
  }
  if (::unlink(address.sun_path) != 0) return errno_error(errno, std::string("removing the stale socket ") + address.sun_path);
  return ok_status();
}

bool lacks_resources(int code) { return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM; }

}  // namespace

Result<BoundTcp> listen_tcp(const TcpListen& where) {
  boost::system::error_code code;
  const auto address = asio::ip::make_address(where.address, code);
  if (code) {
    return make_error(ErrorCode::invalid_argument,
                      "'" + where.address + "' is no IP address; right would be 127.0.0.1, 0.0.0.0 or ::");
  }
  asio::ip::tcp::endpoint endpoint(address, where.port);
  const auto name = where.address + " port " + std::to_string(where.port);
  BoundTcp bound;
  HARENA_TRY(bound.fd, open_socket(endpoint.protocol().family()));
  const int on = 1;
  ::setsockopt(bound.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(bound.fd.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0) return listen_error(name);
  if (::listen(bound.fd.get(), kBacklog) != 0) return listen_error(name);
  auto size = static_cast<socklen_t>(endpoint.capacity());
  if (::getsockname(bound.fd.get(), endpoint.data(), &size) != 0) return listen_error(name);
  bound.port = endpoint.port();
  return bound;
}

Result<UniqueFd> listen_unix(const UnixListen& where) {
  HARENA_TRY(const auto address, unix_address(where.path));
  HARENA_TRY_STATUS(remove_stale(address));
  HARENA_TRY(auto fd, open_socket(AF_UNIX));
  // Until listen() nobody can connect, so the mode is in force before the first client.
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(address.sun_path, where.mode) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return listen_error(where.path.string());
  }
  return fd;
}

Task<void> accept_loop(UniqueFd listening, std::function<void(UniqueFd)> take) {
  asio::posix::stream_descriptor descriptor(co_await asio::this_coro::executor, listening.release());
  while (true) {
    UniqueFd accepted(::accept4(descriptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted) {
      take(std::move(accepted));
    } else if (errno == EAGAIN) {
      co_await descriptor.async_wait(asio::posix::descriptor_base::wait_read, asio::use_awaitable);
    } else if (lacks_resources(errno)) {
      co_await sleep_for(kWaitForResources);
    } else if (errno == EINVAL || errno == EBADF) {
      co_return;  // shut down
    }  // else: one connection failed before it was accepted
  }
}

}  // namespace harena::http
