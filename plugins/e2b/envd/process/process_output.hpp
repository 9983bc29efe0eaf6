#pragma once
// The stream of one command's events: start, data as it comes, end.

#include <cstdint>
#include <string>

#include "plugins/e2b/envd/connect/rpc.hpp"
#include "plugins/e2b/envd/envd_call.hpp"
#include "plugins/e2b/envd/proto/process.pb.h"

namespace harena::e2b {

struct FollowedCommand {
  std::string id;
  std::uint32_t pid = 0;
  bool pty = false;
  /// Behind the last byte that the reader doesn't want.
  std::uint64_t stdout_offset = 0;
  std::uint64_t stderr_offset = 0;
};

/// Sends start, data and end, without the last envelope. StartResponse and ConnectResponse are the same on the wire: `Response` is either.
/// Errors: deadline_exceeded (its timeout ended the command), unavailable (the sandbox ended), and the API's.
template <class Response>
http::Task<Status> follow_command(EnvdCall& call, Rpc& rpc, FollowedCommand command);

extern template http::Task<Status> follow_command<process::StartResponse>(EnvdCall&, Rpc&, FollowedCommand);
extern template http::Task<Status> follow_command<process::ConnectResponse>(EnvdCall&, Rpc&, FollowedCommand);

}  // namespace harena::e2b
