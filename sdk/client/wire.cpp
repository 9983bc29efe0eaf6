#include "sdk/client/wire.hpp"

#include "sdk/base/text.hpp"

namespace harena::client {

namespace {

ErrorCode code_of_status(int status) {
  switch (status) {
    case 400: return ErrorCode::invalid_argument;
    case 401: return ErrorCode::unauthenticated;
    case 403: return ErrorCode::permission_denied;
    case 404: return ErrorCode::not_found;
    case 409: return ErrorCode::failed_precondition;
    case 416: return ErrorCode::out_of_range;
    case 429: return ErrorCode::resource_exhausted;
    case 501: return ErrorCode::unimplemented;
    case 502:
    case 503: return ErrorCode::unavailable;
    case 504: return ErrorCode::deadline_exceeded;
    default: return ErrorCode::unknown;
  }
}

}  // namespace

Error error_from_json(const json& error, int status) {
  Error result = make_error(code_of_status(status), "the server answered HTTP " + std::to_string(status) + " without saying why");
  if (!error.is_object()) return result;
  result.code = error_code_from_string(text_or(error, "code")).value_or(result.code);
  result.message = text_or(error, "message", result.message);
  result.cause = cause_from_string(text_or(error, "cause")).value_or(Cause::none);
  result.retry = retry_from_string(text_or(error, "retry")).value_or(Retry::never);
  if (const auto details = error.find("details"); details != error.end() && details->is_object()) {
    result.cause_detail = text_or(*details, "cause_detail", text_or(*details, "reason"));
  }
  return result;
}

void put_bytes(json& object, const std::string& key, std::string_view bytes) {
  if (is_utf8(bytes)) {
    object[key] = bytes;
  } else {
    object[key + "_b64"] = base64_encode(bytes);
  }
}

std::optional<std::string> get_bytes(const json& object, const std::string& key) {
  if (const auto found = object.find(key + "_b64"); found != object.end() && found->is_string()) {
    auto bytes = base64_decode(found->get_ref<const std::string&>());
    if (bytes.ok()) return std::move(bytes).value();
    return std::nullopt;
  }
  if (const auto found = object.find(key); found != object.end() && found->is_string()) return found->get<std::string>();
  return std::nullopt;
}

std::string text_or(const json& object, const char* key, std::string fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::move(fallback);
}

std::string query(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) {
    if (value.empty()) continue;
    text += (text.empty() ? '?' : '&') + key + "=" + percent_encode(value);
  }
  return text;
}

Result<json> parse_json(std::string_view text) {
  auto value = json::parse(text, nullptr, false);
  if (!value.is_discarded()) return value;
  return make_error(ErrorCode::data_loss, "the answer isn't JSON: '" + std::string(text.substr(0, 80)) + "'; is this a Harena server?");
}

}  // namespace harena::client
