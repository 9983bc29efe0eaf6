#include "sdk/http/error.hpp"

#include <boost/beast/http/status.hpp>
#include <nlohmann/json.hpp>

#include "sdk/base/text.hpp"

namespace harena::http {
using nlohmann::json;
namespace {

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Error foreign_error(int status, std::string_view body) {
  constexpr std::size_t kShown = 200;
  auto message = "HTTP status " + std::to_string(status);
  if (!body.empty()) message += ": " + std::string(body.substr(0, kShown));
  return make_error(error_code_from_http(status), std::move(message));
}

void read_details(const json& details, Error& error) {
  if (!details.is_object()) return;
  error.cause_detail = text_of(details, "cause_detail");
  const auto context = details.find("context");
  if (context == details.end() || !context->is_array()) return;
  for (const auto& line : *context) {
    if (line.is_string()) error.context.push_back(line.get<std::string>());
  }
}

}  // namespace

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::ok: return 200;
    case ErrorCode::cancelled: return 499;
    case ErrorCode::invalid_argument: return 400;
    case ErrorCode::deadline_exceeded: return 504;
    case ErrorCode::not_found: return 404;
    case ErrorCode::already_exists: return 409;
    case ErrorCode::permission_denied: return 403;
    case ErrorCode::resource_exhausted: return 429;
    case ErrorCode::failed_precondition: return 409;
    case ErrorCode::aborted: return 409;
    case ErrorCode::out_of_range: return 416;
    case ErrorCode::unimplemented: return 501;
    case ErrorCode::unavailable: return 503;
    case ErrorCode::unauthenticated: return 401;
    case ErrorCode::unknown:
    case ErrorCode::internal:
    case ErrorCode::data_loss: return 500;
  }
  return 500;
}

ErrorCode error_code_from_http(int status) {
  switch (status) {
    case 401: return ErrorCode::unauthenticated;
    case 403: return ErrorCode::permission_denied;
    case 404: return ErrorCode::not_found;
    case 405: case 501: return ErrorCode::unimplemented;
    case 409: return ErrorCode::aborted;
    case 412: return ErrorCode::failed_precondition;
    case 413: case 429: case 431: return ErrorCode::resource_exhausted;
    case 416: return ErrorCode::out_of_range;
    case 499: return ErrorCode::cancelled;
    case 502: case 503: return ErrorCode::unavailable;
    case 408: case 504: return ErrorCode::deadline_exceeded;
    default: break;
  }
  if (status < 400) return ErrorCode::unknown;
  return status < 500 ? ErrorCode::invalid_argument : ErrorCode::internal;
}

std::string_view reason_phrase(int status) {
  if (status == 103) return "Early Hints";
  if (status == 499) return "Client Closed Request";
  const auto known = boost::beast::http::int_to_status(static_cast<unsigned>(status));
  if (known == boost::beast::http::status::unknown) return {};
  return boost::beast::http::obsolete_reason(known);
}

json error_document(const Error& error, const json& details) {
  json shown = details.is_object() ? details : json::object();
  if (!error.cause_detail.empty()) shown["cause_detail"] = error.cause_detail;
  if (!error.context.empty()) shown["context"] = error.context;
  json body = {{"code", to_string(error.code)},
               {"message", error.message},
               {"cause", to_string(error.cause)},
               {"retry", to_string(error.retry)},
               {"details", std::move(shown)}};
  json document = json::object();
  document["error"] = std::move(body);
  return document;
}

json error_document(const Error& error) { return error_document(error, json()); }

std::string error_body(const Error& error, const json& details) {
  // Messages may quote names of any bytes; JSON carries them as U+FFFD rather than failing.
  return error_document(error, details).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string error_body(const Error& error) { return error_body(error, json()); }

Error parse_error(int status, std::string_view body) {
  const auto parsed = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("error") || !parsed["error"].is_object()) {
    return foreign_error(status, body);
  }
  const auto& shown = parsed["error"];
  const auto code = error_code_from_string(text_of(shown, "code"));
  if (!code || *code == ErrorCode::ok) return foreign_error(status, body);
  auto error = make_error(*code, text_of(shown, "message"));
  error.cause = cause_from_string(text_of(shown, "cause")).value_or(Cause::none);
  error.retry = retry_from_string(text_of(shown, "retry")).value_or(Retry::never);
  if (const auto details = shown.find("details"); details != shown.end()) read_details(*details, error);
  return error;
}

Error stopping_error() {
  auto error = infrastructure_error(ErrorCode::unavailable, "draining", "the server is being stopped; ask again when it is back");
  error.retry = Retry::same_node;
  return error;
}

}  // namespace harena::http
