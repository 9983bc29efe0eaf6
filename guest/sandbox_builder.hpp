#pragma once
// From a configuration to a running shim: a child of the agent builds the sandbox, makes its init, and becomes the shim.

#include <sys/types.h>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/session/tunnel/agent_messages.hpp"

namespace harena::guest {

inline constexpr const char* kShimProgram = "/bin/harena-shim";
inline constexpr const char* kShimSocket = "/run/shim.sock";

struct RunningSandbox {
  pid_t shim = 0;
  pid_t init = 0;
};

/// Returns when the shim accepts sessions on kShimSocket. `group`: the sandbox's cgroup. On an error nothing of it is left but mounts.
Result<RunningSandbox> start_sandbox(const session::ConfigureRequest& request, int group);

}  // namespace harena::guest
