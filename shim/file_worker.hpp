#pragma once
// What a file worker does: enter the sandbox, become the user, one operation. Runs in a process of its own; may block.

#include <string>
#include <string_view>

#include "sdk/session/frame.hpp"
#include "shim/sandbox.hpp"

namespace harena::shim {

/// What a worker keeps open beside the sandbox's descriptors.
struct WorkerLines {
  /// The client's, lent.
  int socket = -1;
  /// WorkerChannel::leftovers().
  int leftovers = -1;
};

/// `rest`: what the client sent behind the request and was read already. True when the operation came to its final frame and
/// the connection can go on.
bool run_file_worker(const Sandbox& sandbox, WorkerLines lines, std::string rest, session::FrameType type, std::string_view payload);

}  // namespace harena::shim
