#pragma once
// What an image has for a clone's processes (sdk/session/tunnel/clone_hooks.hpp). The agent only finds it:
// the host runs it as commands, under the same walls as all others.

#include <string>
#include <vector>

namespace harena::guest {

/// Names of the executables in kCloneHookFolder below `root`, sorted; empty also when it is a link, or on a
/// file system that the sandbox has mounted: nothing of it is asked then, so that nobody inside can hold the
/// agent up.
std::vector<std::string> find_clone_hooks(int root);

}  // namespace harena::guest
