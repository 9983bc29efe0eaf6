#pragma once
// Errors that several verbs share.

#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::qemu {

/// 1 to 64 characters of [0-9a-z-].
Status check_id(std::string_view id);
Error unknown_sandbox(std::string_view id);
/// What isn't the caller's fault is this machine's, and may work on another.
Error of_this_host(Error error);

}  // namespace harena::qemu
