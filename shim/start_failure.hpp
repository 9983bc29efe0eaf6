#pragma once
// Why a command's process didn't get to its program: what the process itself says (a step and a number: it
// may have no memory of its own), and the words for it.

#include <cstdint>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::shim {

/// Between clone and exec, in their order.
enum class StartStep : std::uint8_t { cgroup = 1, pids, enter, user, stdio, capabilities, cwd, limits, apparmor, program };

struct StartFailure {
  StartStep step = StartStep::program;
  /// With program: the file is there.
  bool is_there = false;
  int error_number = 0;
};

/// As a report carries it.
inline constexpr std::size_t kStartFailureBytes = 10;
void encode_failure(const StartFailure& failure, char* bytes);
/// data_loss when it can't be read.
Result<StartFailure> decode_failure(std::string_view bytes);

/// `cwd` as asked for, `program` as it was run, `path`: where a program without a slash in its name was
/// looked for.
Error explain_failure(const StartFailure& failure, const std::string& cwd, const std::string& program, const std::string& path);

/// The sandbox's own fault, with a reason that programs can tell apart.
Error refused(ErrorCode code, std::string reason, std::string message);
/// resource_exhausted (limit, pids).
Error pids_error();

}  // namespace harena::shim
