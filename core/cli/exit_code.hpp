#pragma once
// What a remote command's end becomes as this program's exit code.

#include "sdk/base/result.hpp"
#include "sdk/client/commands.hpp"

namespace harena::cli {

/// Its own code; 128 + N for signal N; kExitTimeout; 137 for what a limit ended; kExitPlatform for what the platform ended.
int exit_code_of(const client::ExitStatus& status);
/// A sentence for stderr when the end wasn't the command's own; empty otherwise.
std::string remark_of(const client::ExitStatus& status);
/// A command that couldn't be started, or any other failure of Harena.
int exit_code_of(const Error& error);

}  // namespace harena::cli
