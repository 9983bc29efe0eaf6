#pragma once
// The stream of one command's events: start, data as it comes, end.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/e2b/envd/connect/rpc.hpp"
#include "plugins/e2b/envd/envd_call.hpp"
#include "plugins/e2b/envd/process/process_event.hpp"
#include "plugins/e2b/envd/proto/process.pb.h"

namespace harena::e2b {

struct FollowedCommand {
  std::string id;
  std::uint32_t pid = 0;
  bool pty = false;
  /// Somebody will write to it, and waits for its start to do so.
  bool takes_input = false;
};

/// The headers with which the API answers output in frames.
http::Headers frames_wanted();

/// The frames of an answer that the API has begun. Borrows the session.
class CommandOutput {
 public:
  explicit CommandOutput(ApiSession& api) : api_(api) {}
  /// nullopt at the end. The API's error frame is an error: unavailable when the sandbox ended under the command.
  http::Task<Result<std::optional<OutputFrame>>> next();

 private:
  ApiSession& api_;
  OutputFrames frames_;
  std::vector<std::byte> block_;
};

/// Reads what the API tells first of a command that was started with `attach`.
http::Task<Result<FollowedCommand>> read_started(CommandOutput& output);
/// Asks for what a running command prints from those offsets on.
http::Task<Status> open_output(EnvdCall& call, const FollowedCommand& command, std::uint64_t stdout_offset, std::uint64_t stderr_offset);

/// Sends start, data and end, without the last envelope. StartResponse and ConnectResponse are the same on the wire: `Response` is either.
/// Errors: deadline_exceeded (its timeout ended the command), unavailable (the sandbox ended), and the API's.
template <class Response>
http::Task<Status> follow_command(Rpc& rpc, FollowedCommand command, CommandOutput output);

extern template http::Task<Status> follow_command<process::StartResponse>(Rpc&, FollowedCommand, CommandOutput);
extern template http::Task<Status> follow_command<process::ConnectResponse>(Rpc&, FollowedCommand, CommandOutput);

}  // namespace harena::e2b
