#include "plugins/microvm/errors.hpp"

#include <utility>

#include "sdk/support/backend_errors.hpp"

namespace harena::microvm {

Status check_id(std::string_view id) { return check_sandbox_id(id, {"platform"}); }

Error unknown_sandbox(std::string_view id) {
  return make_error(ErrorCode::not_found, "sandbox '" + std::string(id) + "' isn't known to the microvm backend");
}

Error of_this_host(Error error) { return host_error(std::move(error), "machine"); }

}  // namespace harena::microvm
