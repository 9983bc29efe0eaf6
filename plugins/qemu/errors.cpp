#include "plugins/qemu/errors.hpp"

#include <algorithm>

namespace harena::qemu {

Status check_id(std::string_view id) {
  const bool good = !id.empty() && id.size() <= 64 && id != "platform" && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
  });
  if (good) return {};
  return make_error(ErrorCode::invalid_argument, "sandbox id '" + std::string(id.substr(0, 80)) + "': 1 to 64 characters of [0-9a-z-] are right");
}

Error unknown_sandbox(std::string_view id) {
  return make_error(ErrorCode::not_found, "sandbox '" + std::string(id) + "' isn't known to the qemu backend");
}

Error of_this_host(Error error) {
  const auto code = error.code;
  const bool callers = code == ErrorCode::invalid_argument || code == ErrorCode::unimplemented || code == ErrorCode::already_exists ||
                       code == ErrorCode::cancelled || code == ErrorCode::deadline_exceeded;
  if (error.cause != Cause::none || callers) return error;
  // A file of ours that isn't there isn't the sandbox that somebody asked for.
  if (code == ErrorCode::not_found) error.code = ErrorCode::unavailable;
  error.cause = Cause::infrastructure;
  error.cause_detail = "machine";
  error.retry = Retry::other_node;
  return error;
}

}  // namespace harena::qemu
