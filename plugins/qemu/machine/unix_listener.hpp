#pragma once
// A listening Unix stream socket for peers of this user alone.

#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::qemu {

/// At `path` (mode 0600, an old one is replaced), non-blocking.
Result<UniqueFd> listen_unix(const std::string& path);
/// The next peer, non-blocking; invalid when there is none or it isn't of this user.
UniqueFd accept_own(int listener);

}  // namespace harena::qemu
