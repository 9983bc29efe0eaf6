#pragma once
// Listening sockets and the accept loop. Internal to sdk/http.

#include <cstdint>
#include <functional>
#include <memory>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/http/server.hpp"
#include "sdk/http/task.hpp"

namespace harena::http {

struct BoundTcp {
  UniqueFd fd;
  std::uint16_t port = 0;
};
/// Bound and listening, CLOEXEC and non-blocking. Errors: see Server::start().
Result<BoundTcp> listen_tcp(const TcpListen& where);
Result<UniqueFd> listen_unix(const UnixListen& where);

/// Accepts until the descriptor is shut down, giving each connection to `take`. A lack of descriptors or memory
/// is waited out.
Task<void> accept_loop(UniqueFd listening, std::function<void(UniqueFd)> take);

}  // namespace harena::http
