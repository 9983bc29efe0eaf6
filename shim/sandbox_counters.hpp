#pragma once
// What the kernel counted against the sandbox's limits, in the files of its cgroups (v2 or v1): the only ground on which a command's
// end is called `oom` or `pids`.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/unique_fd.hpp"

namespace harena::shim {

/// The whole of a small kernel file from its start; empty on failure.
std::string read_small_file(int fd);
/// The number behind "key " in a flat-keyed cgroup file; 0 if there is none.
std::uint64_t flat_value(const std::string& text, std::string_view key);

class SandboxCounters {
 public:
  /// Opens what the group offers: memory.events, memory.oom_control, memory.failcnt, memory.memsw.*, pids.*. Missing files count nothing.
  void add_group(int folder);

  /// Processes of the sandbox that the OOM killer ended, its own limit or the machine's memory being the reason.
  std::uint64_t oom_kills() const;
  /// Times that the sandbox's own memory limit was hit. An OOM kill without one was the machine's doing.
  std::uint64_t memory_limit_hits() const;
  /// v1 with swap accounted for doesn't count hits of memory and swap together, it only keeps the peak: whether that ever was the limit.
  bool swap_limit_was_reached() const;
  /// Forks that the limit of processes refused.
  std::uint64_t forks_refused() const;
  /// Whether the limit leaves no room for one more process.
  bool pids_full() const;
  /// More processes than the limit: attaching to a v1 group isn't refused by the kernel.
  bool pids_exceeded() const;
  /// pids.current and pids.max of each group that has both; borrowed.
  std::vector<std::pair<int, int>> process_counts() const;
  /// A child that doesn't exec must keep these.
  std::vector<int> descriptors() const;

 private:
  struct Group {
    UniqueFd memory_events, oom_control, failcnt, memsw_peak, memsw_limit, pids_current, pids_max, pids_events;
  };
  /// How many more processes fit; negative when over the limit.
  std::int64_t room() const;
  std::vector<Group> groups_;
};

}  // namespace harena::shim
