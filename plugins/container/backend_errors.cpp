#include "plugins/container/backend_errors.hpp"

#include <algorithm>
#include <string>

namespace harena::container {

Status check_id(std::string_view id) {
  const bool good = !id.empty() && id.size() <= 64 && id != "launcher" && id != "platform" && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
  });
  if (good) return {};
  return make_error(ErrorCode::invalid_argument, "sandbox id '" + std::string(id) + "': 1 to 64 characters of [0-9a-z-] are right");
}

Error unknown_sandbox(std::string_view id) {
  return make_error(ErrorCode::not_found, "sandbox '" + std::string(id) + "' isn't known to the container backend");
}

Error infrastructure(Error error, const char* part) {
  const bool callers = error.code == ErrorCode::invalid_argument || error.code == ErrorCode::unimplemented ||
                       error.code == ErrorCode::already_exists ||
                       error.code == ErrorCode::cancelled || error.code == ErrorCode::deadline_exceeded;
  if (error.cause == Cause::none && !callers) {
    // A file of ours that isn't there isn't the sandbox that somebody asked for.
    if (error.code == ErrorCode::not_found) error.code = ErrorCode::unavailable;
    // What the kernel refuses this daemon it refuses the next time too; and it isn't the caller who lacks a permission.
    if (error.code == ErrorCode::permission_denied) error.code = ErrorCode::failed_precondition;
    error.cause = Cause::infrastructure;
    error.cause_detail = part;
    error.retry = Retry::other_node;
  }
  return error;
}

}  // namespace harena::container
