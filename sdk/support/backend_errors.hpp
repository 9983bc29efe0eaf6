#pragma once
// What backends on Linux answer alike.

#include <initializer_list>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena {

/// An id that names folders and cgroups: 1 to 64 characters of [0-9a-z-], and none of `reserved`, which are groups of the backend's own.
Status check_sandbox_id(std::string_view id, std::initializer_list<std::string_view> reserved);

/// What isn't the caller's fault is this host's (`part` of it), and may work on another. An error that has a cause already stays as it is.
Error host_error(Error error, std::string part);

}  // namespace harena
