#include "plugins/e2b/envd/http/rest_answer.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

int rest_status(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::failed_precondition:
    case ErrorCode::out_of_range: return 400;
    case ErrorCode::unauthenticated: return 401;
    case ErrorCode::permission_denied: return 403;
    case ErrorCode::not_found: return 404;
    case ErrorCode::already_exists:
    case ErrorCode::aborted: return 409;
    case ErrorCode::resource_exhausted: return error.cause_detail == "disk" ? 507 : 429;
    case ErrorCode::unimplemented: return 501;
    case ErrorCode::unavailable: return 503;
    case ErrorCode::deadline_exceeded: return 504;
    default: return 500;
  }
}

Task<Status> send_rest_json(http::ResponseWriter& response, int status, json body) {
  http::Headers headers;
  headers.add("Content-Type", "application/json");
  const auto text = body.dump(-1, ' ', false, json::error_handler_t::replace);
  co_return co_await response.send(status, std::move(headers), text);
}

Task<Status> send_rest_error(http::ResponseWriter& response, int status, std::string message) {
  json body = {{"code", status}, {"message", std::move(message)}};
  return send_rest_json(response, status, std::move(body));
}

Task<Status> send_rest_error(http::ResponseWriter& response, Error error) {
  const int status = rest_status(error);
  return send_rest_error(response, status, std::move(error.message));
}

Task<Status> send_sandbox_gone(http::ResponseWriter& response, std::string sandbox) {
  json body = {{"sandboxId", std::move(sandbox)}, {"message", "The sandbox was not found"}, {"code", 502}};
  return send_rest_json(response, 502, std::move(body));
}

Task<Status> send_port_closed(http::ResponseWriter& response, std::string sandbox, std::uint16_t port) {
  json body = {{"sandboxId", std::move(sandbox)}, {"message", "The sandbox is running but port is not open"}, {"port", port}, {"code", 502}};
  return send_rest_json(response, 502, std::move(body));
}

Task<Status> send_traffic_refused(http::ResponseWriter& response, std::string sandbox) {
  json body = {{"sandboxId", std::move(sandbox)},
               {"message", "Sandbox is secured with traffic access token. Token header 'e2b-traffic-access-token' is missing or wrong"},
               {"code", 403}};
  return send_rest_json(response, 403, std::move(body));
}

}  // namespace harena::e2b
