#pragma once
// A listening Unix socket for peers of this user alone.

#include <sys/socket.h>

#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::vmm {

/// At `path` (mode 0600, an old one is replaced), non-blocking. `type`: SOCK_STREAM or SOCK_SEQPACKET.
Result<UniqueFd> listen_unix(const std::string& path, int type = SOCK_STREAM, int backlog = 64);
/// The next peer, non-blocking; invalid when there is none or it isn't of this user.
UniqueFd accept_own(int listener);

}  // namespace harena::vmm
