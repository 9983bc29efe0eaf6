#pragma once
// What a request comes to: arguments, environment, and the files that may be its program.

#include <string>
#include <vector>

#include "sdk/session/command_messages.hpp"
#include "shim/sandbox.hpp"
#include "shim/users.hpp"

namespace harena::shim {

/// Lines of NAME=VALUE.
using Environment = std::vector<std::string>;
Environment make_environment(const Sandbox& sandbox, const session::StartRequest& request, const Identity& identity);

/// Where a program without a slash is looked for: PATH of this environment, or what there is without one.
std::string search_path(const Sandbox& sandbox, const session::StartRequest& request, const Environment& environment);

/// The shell of a shell text.
std::string shell_of(const Sandbox& sandbox, const session::StartRequest& request);

/// Its arguments, shell first. Precondition: the text isn't empty.
std::vector<std::string> shell_words(const Sandbox& sandbox, const session::StartRequest& request);

/// What execve(2) is tried on, in this order.
std::vector<std::string> executables(const std::string& program, const std::string& path);

/// Ends with a null; borrows.
std::vector<char*> pointers(std::vector<std::string>& texts);

}  // namespace harena::shim
