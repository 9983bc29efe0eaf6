#pragma once
// The agent's own requests to the shim: few, short, and answered at once.

#include <string>

#include "sdk/base/result.hpp"
#include "sdk/session/frame.hpp"

namespace harena::guest {

/// One request whose answer is `ok` or an error. unavailable (infrastructure) when the shim doesn't answer within 5 s.
Status tell_shim(session::FrameType type, const std::string& payload);

}  // namespace harena::guest
