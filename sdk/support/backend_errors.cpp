#include "sdk/support/backend_errors.hpp"

#include <algorithm>
#include <utility>

namespace harena {

Status check_sandbox_id(std::string_view id, std::initializer_list<std::string_view> reserved) {
  const bool good = !id.empty() && id.size() <= 64 && std::find(reserved.begin(), reserved.end(), id) == reserved.end() &&
                    std::all_of(id.begin(), id.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-'; });
  if (good) return {};
  return make_error(ErrorCode::invalid_argument, "sandbox id '" + std::string(id.substr(0, 80)) + "': 1 to 64 characters of [0-9a-z-] are right");
}

Error host_error(Error error, std::string part) {
  const auto code = error.code;
  const bool callers = code == ErrorCode::invalid_argument || code == ErrorCode::unimplemented || code == ErrorCode::already_exists ||
                       code == ErrorCode::cancelled || code == ErrorCode::deadline_exceeded;
  if (error.cause != Cause::none || callers) return error;
  // A file of ours that isn't there isn't the sandbox that somebody asked for.
  if (code == ErrorCode::not_found) error.code = ErrorCode::unavailable;
  error.cause = Cause::infrastructure;
  error.cause_detail = std::move(part);
  error.retry = Retry::other_node;
  return error;
}

}  // namespace harena
