#pragma once
// What the sandbox uses inside the guest.

#include "sdk/session/tunnel/agent_messages.hpp"

namespace harena::guest {

/// What a file doesn't tell is 0.
session::MetricsAnswer read_metrics();
/// MemTotal of /proc/meminfo.
std::uint64_t machine_memory_bytes();

}  // namespace harena::guest
