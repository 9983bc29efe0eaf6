#pragma once
// The typed errors that all verbs of the backend share.

#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::container {

/// An id becomes the name of cgroups: whatever the host promises, it is checked here. invalid_argument says what is right.
Status check_id(std::string_view id);
/// not_found.
Error unknown_sandbox(std::string_view id);
/// What fails here without having been the caller's mistake or wish is this machine's doing: cause infrastructure, `part`.
Error infrastructure(Error error, const char* part);

}  // namespace harena::container
