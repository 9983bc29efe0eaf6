#pragma once
// Forwards one request to a port in a sandbox.
//
//   PortForward to;
//   to.port = 8080;
//   to.rest = request.param("rest");
//   co_return co_await forward_to_port(request, response, to, open_port);

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/http/byte_stream.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/response_writer.hpp"
#include "sdk/http/task.hpp"

namespace harena {

/// A stream to a port of one sandbox, on the executor of the caller. Its errors say what happened:
/// - unavailable without cause infrastructure: nothing listens there; answered 502 with details.reason port_closed;
/// - failed_precondition: the sandbox isn't running; answered 409;
/// - any other: answered as it is.
using PortOpener = std::function<http::Task<Result<std::unique_ptr<http::ByteStream>>>(std::uint16_t port)>;

struct PortForward {
  std::uint16_t port = 0;
  /// The encoded path that the sandbox sees, without its first slash, without the query.
  std::string rest;
  /// Fields that are the platform's, not the sandbox's.
  std::vector<std::string> private_headers = {"Authorization"};
};

/// A decimal port, 1 to 65535; invalid_argument names the text otherwise.
Result<std::uint16_t> parse_port(std::string_view text);

/// Answers the request with what the port answers. An answer that isn't HTTP, or none at all, is 502 with
/// details.reason bad_answer. `Upgrade: tcp` gets 101 and raw bytes; other upgrades are the sandbox's to accept.
/// Cancelled with the handler that calls it: the stream to the sandbox is closed then.
http::Task<Status> forward_to_port(http::Request& request, http::ResponseWriter& response, PortForward to,
                                   const PortOpener& open);

}  // namespace harena
