#include "sdk/http/socket_stream.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace harena::http {
namespace asio = boost::asio;
using asio::ip::tcp;
namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

bool would_block(const boost::system::error_code& code) {
  return code == asio::error::would_block || code == asio::error::try_again;
}

std::string peer_name(const StreamSocket& socket) {
  boost::system::error_code ignored;
  const auto remote = socket.remote_endpoint(ignored);
  if (ignored) return "gone";
  if (remote.protocol().family() == AF_UNIX) return "unix";
  tcp::endpoint endpoint;
  endpoint.resize(remote.size());
  std::memcpy(endpoint.data(), remote.data(), remote.size());
  const auto address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? '[' + address + ']' : address) + ':' + std::to_string(endpoint.port());
}

// Tries each call at once and waits only when the kernel would block: most calls end without a turn of the event
// loop. Every kTurns-th goes through the loop all the same, so that a busy stream can't starve its neighbours
// and a cancellation is seen.
class SocketStream final : public ByteStream {
 public:
  explicit SocketStream(StreamSocket socket) : socket_(std::move(socket)) {
    boost::system::error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(tcp::no_delay(true), ignored);
  }

  Task<Result<std::size_t>> read(std::span<std::byte> into) override {
    boost::system::error_code code;
    std::size_t count = 0;
    const auto buffer = asio::buffer(into.data(), into.size());
    const bool immediate = !must_take_turn();
    if (immediate) count = socket_.read_some(buffer, code);
    if (!immediate || would_block(code)) {
      std::tie(code, count) = co_await socket_.async_read_some(buffer, kTuple);
    }
    if (code == asio::error::eof) co_return std::size_t{0};
    if (code) co_return asio_error(code, "reading from a connection");
    co_return count;
  }

  Task<Status> write(std::span<const std::byte> bytes) override {
    return write_buffers(std::array{asio::const_buffer(bytes.data(), bytes.size())});
  }

  Task<Status> write_parts(std::span<const std::span<const std::byte>> parts) override {
    std::array<asio::const_buffer, 4> buffers;
    if (parts.size() > buffers.size()) return ByteStream::write_parts(parts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      buffers[i] = asio::const_buffer(parts[i].data(), parts[i].size());
    }
    return write_buffers(buffers);
  }

  Task<Status> shutdown_write() override {
    boost::system::error_code code;
    socket_.shutdown(StreamSocket::shutdown_send, code);
    if (code && code != asio::error::not_connected) co_return asio_error(code, "ending a connection");
    co_return ok_status();
  }

  void close() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

  void abort() override {
    boost::system::error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    socket_.close(ignored);
  }
  std::size_t unsent() const override {
    int count = 0;
    return ::ioctl(poll_fd(), SIOCOUTQ, &count) == 0 && count > 0 ? static_cast<std::size_t>(count) : 0;
  }

  int poll_fd() const override { return const_cast<StreamSocket&>(socket_).native_handle(); }
  std::string peer() const override { return peer_name(socket_); }

 private:
  static constexpr unsigned kTurns = 32;
  bool must_take_turn() { return ++calls_ % kTurns == 0; }

  template <std::size_t N>
  Task<Status> write_buffers(std::array<asio::const_buffer, N> buffers) {
    const auto total = asio::buffer_size(buffers);
    boost::system::error_code code;
    std::size_t sent = 0;
    if (!must_take_turn()) sent = socket_.write_some(buffers, code);
    if (would_block(code)) code = {};
    if (!code && sent < total) {
      std::tie(code, std::ignore) = co_await asio::async_write(socket_, skip(buffers, sent), kTuple);
    }
    if (code) co_return asio_error(code, "writing to a connection");
    co_return ok_status();
  }

  template <std::size_t N>
  static std::array<asio::const_buffer, N> skip(std::array<asio::const_buffer, N> buffers, std::size_t count) {
    for (auto& buffer : buffers) {
      const auto step = std::min(count, buffer.size());
      buffer += step;
      count -= step;
    }
    return buffers;
  }

  StreamSocket socket_;
  unsigned calls_ = 0;
};

// Asio's own socket() lacks SOCK_CLOEXEC.
Result<StreamSocket> open_socket(const asio::any_io_executor& executor, int domain) {
  UniqueFd fd(::socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_error(errno, "making a socket");
  return adopt_socket(executor, std::move(fd));
}

Task<Result<StreamSocket>> connect_to(asio::generic::stream_protocol::endpoint endpoint, std::string what) {
  const auto executor = co_await asio::this_coro::executor;
  HARENA_CO_TRY(auto socket, open_socket(executor, endpoint.protocol().family()));
  auto [code] = co_await socket.async_connect(endpoint, kTuple);
  if (code) co_return asio_error(code, what);
  co_return std::move(socket);
}

Task<Result<std::vector<tcp::endpoint>>> resolve(std::string host, std::uint16_t port, std::string what) {
  const auto executor = co_await asio::this_coro::executor;
  boost::system::error_code code;
  std::vector<tcp::endpoint> endpoints;
  if (const auto address = asio::ip::make_address(host, code); !code) {
    endpoints.emplace_back(address, port);
    co_return endpoints;
  }
  tcp::resolver resolver(executor);
  auto [resolve_code, found] = co_await resolver.async_resolve(host, std::to_string(port), kTuple);
  if (resolve_code) co_return asio_error(resolve_code, what);
  for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  co_return endpoints;
}

}  // namespace

Error asio_error(const boost::system::error_code& code, std::string_view what) {
  if (code == asio::error::operation_aborted) {
    return make_error(ErrorCode::cancelled, std::string(what) + " was cancelled");
  }
  if (code.category() == boost::system::system_category()) {
    auto error = errno_error(code.value(), what);
    if (code == asio::error::broken_pipe || code == asio::error::connection_reset ||
        code == asio::error::host_unreachable || code == asio::error::network_unreachable ||
        code == asio::error::bad_descriptor) {
      error.code = ErrorCode::unavailable;
    }
    return error;
  }
  return make_error(ErrorCode::unavailable, std::string(what) + ": " + code.message());
}

std::unique_ptr<ByteStream> socket_stream(StreamSocket socket) {
  return std::make_unique<SocketStream>(std::move(socket));
}

Result<StreamSocket> adopt_socket(const asio::any_io_executor& executor, UniqueFd take_fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(take_fd.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) {
    return errno_error(errno, "asking for a socket's domain");
  }
  StreamSocket socket(executor);
  boost::system::error_code code;
  socket.assign(asio::generic::stream_protocol(domain, 0), take_fd.get(), code);
  if (code) return asio_error(code, "adopting a socket");
  (void)take_fd.release();
  return socket;
}

Task<Result<std::unique_ptr<ByteStream>>> adopt_stream(UniqueFd take_fd) {
  const auto executor = co_await asio::this_coro::executor;
  HARENA_CO_TRY(auto socket, adopt_socket(executor, std::move(take_fd)));
  co_return socket_stream(std::move(socket));
}

Task<Result<StreamSocket>> connect_tcp_socket(std::string host, std::uint16_t port) {
  const auto what = "connecting to " + host + ":" + std::to_string(port);
  HARENA_CO_TRY(const auto endpoints, co_await resolve(host, port, what));
  Error last = make_error(ErrorCode::unavailable, what + ": the name has no address");
  for (const auto& endpoint : endpoints) {
    auto socket = co_await connect_to(endpoint, what);
    if (socket.ok()) co_return socket;
    last = std::move(socket).error();
  }
  co_return last;
}

Task<Result<std::unique_ptr<ByteStream>>> connect_tcp(std::string host, std::uint16_t port) {
  HARENA_CO_TRY(auto socket, co_await connect_tcp_socket(std::move(host), port));
  co_return socket_stream(std::move(socket));
}

Task<Result<std::unique_ptr<ByteStream>>> connect_unix(std::filesystem::path path) {
  if (path.native().size() >= sizeof(sockaddr_un{}.sun_path)) {
    co_return make_error(ErrorCode::invalid_argument, "the socket path " + path.string() + " is longer than 107 bytes");
  }
  const asio::local::stream_protocol::endpoint endpoint(path.string());
  HARENA_CO_TRY(auto socket, co_await connect_to(endpoint, "connecting to " + path.string()));
  co_return socket_stream(std::move(socket));
}

}  // namespace harena::http
