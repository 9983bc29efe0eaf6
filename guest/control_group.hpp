#pragma once
// The cgroup of the sandbox inside the guest: what keeps the workload within bounds and the platform's own processes out of them.

#include <cstdint>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::guest {

inline constexpr const char* kSandboxGroup = "/sys/fs/cgroup/sandbox";

struct GroupLimits {
  /// 0: none.
  std::uint64_t pids_max = 0;
  std::uint64_t memory_max_bytes = 0;
};

/// Makes it and opens its folder.
Result<UniqueFd> make_sandbox_group(const GroupLimits& limits);

/// A number of one of its files; 0 where there is none ("max" is 0 too).
std::uint64_t group_number(const char* file);
/// A line "KEY NUMBER" of one of its files.
std::uint64_t group_number(const char* file, const std::string& key);

}  // namespace harena::guest
