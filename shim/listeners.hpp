#pragma once
// Which addresses of the sandbox a TCP port is listened on: for services that are neither on every address nor on 127.0.0.1.

#include <cstdint>
#include <string>
#include <vector>

namespace harena::shim {

/// Numeric addresses on which something listens on `port` in this network namespace, v4 before v6, each once; "0.0.0.0" and
/// "::" are told as the loopback address that reaches them. At most kMaxListeners. Empty when the kernel doesn't tell.
inline constexpr std::size_t kMaxListeners = 16;
std::vector<std::string> listening_addresses(std::uint16_t port);

}  // namespace harena::shim
