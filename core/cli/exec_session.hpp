#pragma once
// One remote command with this program's stdin, stdout, stderr and signals, through pipes or through a terminal.

#include <string>

#include "core/cli/detach_keys.hpp"
#include "core/cli/signals.hpp"
#include "sdk/client/commands.hpp"

namespace harena::cli {

struct ExecPlan {
  std::string sandbox_id;
  client::CommandRequest request;
};

/// The signals that a session forwards: block them before anything else makes threads.
Result<BlockedSignals> block_session_signals();

/// Pipes: output as it comes, bytes as they are; stdin when `request.stdin_pipe`. INT, TERM, HUP and QUIT go to the command's
/// process group; the third one kills all that it started. Returns the exit code.
Result<int> run_piped(client::Client& client, ExecPlan plan, const BlockedSignals& signals);

/// A terminal: raw mode here, a PTY there, size and resizes passed on. A lost connection is taken up again, also across a restart
/// of the server. `keys` leave the command running and are exit code 0; its id is on stderr then.
Result<int> run_in_terminal(client::Client& client, ExecPlan plan, const BlockedSignals& signals, DetachKeys keys);
/// The same with a command that runs already, from what it prints now on. invalid_argument when it has no terminal.
Result<int> attach_terminal(client::Client& client, const std::string& sandbox_id, const std::string& command_id,
                            const BlockedSignals& signals, DetachKeys keys);

}  // namespace harena::cli
