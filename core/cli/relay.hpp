#pragma once
// Bytes between a local socket and a port in a sandbox.

#include "sdk/base/unique_fd.hpp"
#include "sdk/client/ports.hpp"

namespace harena::cli {

/// Until both directions have ended: half-closes are passed on, slow readers slow the writer, 64 KiB are held each way.
Status relay(UniqueFd local, client::Tunnel& tunnel);

}  // namespace harena::cli
