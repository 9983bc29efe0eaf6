#pragma once
// Whether there is the user that commands are to run as, before anybody asks for a command.

#include <sys/types.h>

#include <string>

#include "sdk/base/result.hpp"

namespace harena::container {

/// `user` as exec takes it: "name", "name:group", "uid", "uid:gid"; empty is right. Names are looked up in /etc/passwd and /etc/group
/// below `root`, by the rules of harena-shim (shim/users.hpp): regular files only, no link out of the tree is followed.
/// invalid_argument (detail no_such_user, no_such_group) names what isn't there.
Status check_user(int root, const std::string& user);
/// In the sandbox whose init it is.
Status check_sandbox_user(pid_t init, const std::string& user);

}  // namespace harena::container
