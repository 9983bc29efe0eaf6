#include "plugins/container/backend_errors.hpp"

#include <string>
#include <utility>

#include "sdk/support/backend_errors.hpp"

namespace harena::container {

Status check_id(std::string_view id) { return check_sandbox_id(id, {"launcher", "platform"}); }

Error unknown_sandbox(std::string_view id) {
  return make_error(ErrorCode::not_found, "sandbox '" + std::string(id) + "' isn't known to the container backend");
}

Error infrastructure(Error error, const char* part) {
  // What the kernel refuses this daemon it refuses the next time too; and it isn't the caller who lacks a permission.
  if (error.cause == Cause::none && error.code == ErrorCode::permission_denied) error.code = ErrorCode::failed_precondition;
  return host_error(std::move(error), part);
}

}  // namespace harena::container
