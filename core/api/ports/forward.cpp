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

// The connection to the sandbox carries one request: it is told so (RFC 9112 9.3). An upgrade is for the sandbox to
// decide on, so its Connection field and what that names (HTTP2-Settings, ...) stay.
void keep_for_one_connection(http::Headers& headers) {
  const bool trailers = headers.has_token("TE", "trailers");
  http::remove_hop_by_hop(headers);
  headers.add("Connection", trailers ? "close, TE" : "close");
  if (trailers) headers.add("TE", "trailers");
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
  // Not allowed on the wire, and no name of ours; but it isn't for us to cut it off.
  if (const auto mark = request.target().find('#'); mark != std::string::npos) head.target += request.target().substr(mark);
  head.headers = request.headers();
  for (const auto& name : to.private_headers) head.headers.remove(name);
  if (!keep_upgrade) keep_for_one_connection(head.headers);
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
