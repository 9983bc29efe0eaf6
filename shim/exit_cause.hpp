#pragma once
// Why a command ended, from what is known about it. Pure; the table of docs/session-protocol.md ("Causes") in code.

#include <cstdint>
#include <optional>
#include <string>

#include "sdk/session/command_messages.hpp"

namespace harena::shim {

/// What is known when the main process has ended. Counts are since the command's start.
struct EndFacts {
  /// As of wait(2).
  int wait_status = 0;
  /// The endpoint sent SIGKILL to everything of it, for this reason.
  std::optional<session::ExitCause> killed_for;
  /// Which limit, with killed_for output_limit or disk.
  std::string killed_detail;
  /// The sandbox is being stopped or its init is dead.
  bool sandbox_ending = false;
  /// OOM kills in the sandbox that no other command's end has explained.
  std::uint64_t oom_kills = 0;
  /// The sandbox's own memory limit was hit.
  bool memory_limit_hit = false;
  /// Forks that the sandbox's limit of processes refused.
  std::uint64_t forks_refused = 0;
  /// The sandbox's root file system has no room or no inode left.
  bool disk_full = false;
};

struct EndVerdict {
  session::ExitCause cause = session::ExitCause::exit;
  std::string detail;
};

EndVerdict judge_end(const EndFacts& facts);
/// Whether facts.disk_full can matter: finding it out costs system calls.
bool disk_may_matter(int wait_status);

}  // namespace harena::shim
