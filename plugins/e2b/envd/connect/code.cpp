#include "plugins/e2b/envd/connect/code.hpp"

#include <nlohmann/json.hpp>

namespace harena::e2b {

using nlohmann::json;

std::string_view connect_code(ErrorCode code) {
  if (code == ErrorCode::cancelled) return "canceled";  // their spelling
  if (code == ErrorCode::ok) return "unknown";
  return to_string(code);
}

int connect_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::cancelled: return 499;
    case ErrorCode::invalid_argument:
    case ErrorCode::failed_precondition:
    case ErrorCode::out_of_range: return 400;
    case ErrorCode::deadline_exceeded: return 504;
    case ErrorCode::not_found: return 404;
    case ErrorCode::already_exists:
    case ErrorCode::aborted: return 409;
    case ErrorCode::permission_denied: return 403;
    case ErrorCode::resource_exhausted: return 429;
    case ErrorCode::unimplemented: return 501;
    case ErrorCode::unavailable: return 503;
    case ErrorCode::unauthenticated: return 401;
    default: return 500;
  }
}

namespace {

json document(const Error& error) {
  return {{"code", std::string(connect_code(error.code))}, {"message", error.message}};
}

std::string text(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

std::string connect_error_body(const Error& error) { return text(document(error)); }

std::string end_of_stream(const Status& status) {
  if (status.ok()) return "{}";
  return text({{"error", document(status.error())}});
}

}  // namespace harena::e2b
