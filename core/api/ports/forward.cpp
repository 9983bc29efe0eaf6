#include "core/api/ports/forward.hpp"

#include <nlohmann/json.hpp>

#include "core/api/ports/forward_parts.hpp"
#include "sdk/base/text.hpp"

namespace harena {
namespace {

bool wants_upgrade(const http::Request& request) {
  return request.headers().has_token("Connection", "upgrade") && request.headers().contains("Upgrade") &&
         request.body_length() == 0u;  // an upgrade with a body is taken for a request (RFC 9110 7.8 allows it)
}

bool wants_tcp(const http::Request& request) { return wants_upgrade(request) && request.headers().has_token("Upgrade", "tcp"); }

bool is_closed_port(const Error& error) {
  return error.code == ErrorCode::unavailable && error.cause != Cause::infrastructure;
}

http::Task<Status> answer_open_error(http::ResponseWriter& response, const PortForward& to, Error error) {
  if (!is_closed_port(error)) co_return std::move(error);
  auto message = "nothing listens on port " + std::to_string(to.port) + " in the sandbox: " + error.message;
  co_return co_await answer_bad_gateway(response, to, "port_closed", std::move(message));
}

}  // namespace

Result<std::uint16_t> parse_port(std::string_view text) {
  HARENA_TRY(const auto port, parse_int(text, 1, 65535, "port"));
  return static_cast<std::uint16_t>(port);
}

http::Task<Status> answer_bad_gateway(http::ResponseWriter& response, const PortForward& to, const char* reason,
                                      std::string message) {
  auto error = make_error(ErrorCode::unavailable, std::move(message));
  error.cause = Cause::agent;
  nlohmann::json details;
  details["reason"] = reason;
  details["port"] = to.port;
  co_return co_await response.send_error(error, details, 502);
}

http::ClientHead forwarded_head(const http::Request& request, const PortForward& to, bool keep_upgrade) {
  http::ClientHead head;
  head.method = request.method();
  head.target = "/" + to.rest;
  if (const auto query = request.raw_query()) head.target.append("?").append(*query);
  head.headers = request.headers();
  const bool trailers = head.headers.has_token("TE", "trailers");
  const std::string protocol(head.headers.get("Upgrade").value_or(""));
  http::remove_hop_by_hop(head.headers);
  for (const auto& name : to.private_headers) head.headers.remove(name);
  head.headers.remove("Expect");  // the server answers it when the body is first read
  if (keep_upgrade) {
    head.headers.add("Connection", "Upgrade");
    head.headers.add("Upgrade", protocol);
  } else if (trailers) {
    head.headers.add("Connection", "TE");
    head.headers.add("TE", "trailers");
  }
  return head;
}

http::Task<Status> forward_to_port(http::Request& request, http::ResponseWriter& response, PortForward to,
                                   const PortOpener& open) {
  auto stream = co_await open(to.port);
  if (!stream.ok()) co_return co_await answer_open_error(response, to, std::move(stream).error());
  if (wants_tcp(request)) co_return co_await forward_tcp(response, std::move(*stream));
  if (wants_upgrade(request)) co_return co_await forward_upgrade(request, response, to, std::move(*stream));
  co_return co_await forward_http(request, response, to, std::move(*stream));
}

}  // namespace harena
