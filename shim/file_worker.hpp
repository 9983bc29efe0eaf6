#pragma once
// What a file worker does: enter the sandbox, become the user, one operation. Runs in a process of its own; may block.

#include <string>
#include <string_view>

#include "sdk/session/frame.hpp"
#include "shim/sandbox.hpp"

namespace harena::shim {

/// `rest`: what the client sent behind the request and was read already. True when the operation came to its final frame and
/// the connection can go on.
bool run_file_worker(const Sandbox& sandbox, int socket, std::string rest, session::FrameType type, std::string_view payload);

}  // namespace harena::shim
