#pragma once
// ByteStreams over TCP and Unix sockets, and how to connect them.

#include <boost/asio/generic/stream_protocol.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "sdk/base/unique_fd.hpp"
#include "sdk/http/byte_stream.hpp"

namespace harena::http {

using StreamSocket = boost::asio::generic::stream_protocol::socket;

/// Takes a connected socket; TCP gets NODELAY. The stream lives on the socket's executor.
std::unique_ptr<ByteStream> socket_stream(StreamSocket socket);
/// Takes a connected stream socket (TCP or Unix, e.g. one end of a socketpair). Errors: those of getsockopt(2).
Task<Result<std::unique_ptr<ByteStream>>> adopt_stream(UniqueFd take_fd);
Result<StreamSocket> adopt_socket(const boost::asio::any_io_executor& executor, UniqueFd take_fd);

/// Connects to a host name or address. Errors: unavailable (refused, unreachable, unknown host).
/// No time limit of its own: see with_timeout().
Task<Result<std::unique_ptr<ByteStream>>> connect_tcp(std::string host, std::uint16_t port);
/// The same before it becomes a stream, for TLS.
Task<Result<StreamSocket>> connect_tcp_socket(std::string host, std::uint16_t port);
/// Connects to a Unix socket. Errors: unavailable (nobody listens), not_found (no such path),
/// invalid_argument (path over 107 bytes).
Task<Result<std::unique_ptr<ByteStream>>> connect_unix(std::filesystem::path path);

/// An Error from an Asio error code; `what` says what was being done.
Error asio_error(const boost::system::error_code& code, std::string_view what);

}  // namespace harena::http
