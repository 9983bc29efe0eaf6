#pragma once
// One remote command with this program's stdin, stdout, stderr and signals, through pipes or through a terminal.

#include <string>

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

/// A terminal: raw mode here, a PTY there, size and resizes passed on. A lost connection is taken up again.
Result<int> run_in_terminal(client::Client& client, ExecPlan plan, const BlockedSignals& signals);

}  // namespace harena::cli
