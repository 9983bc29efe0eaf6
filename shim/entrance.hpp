#pragma once
// The way into a sandbox as plain data, for a process that has no memory of its own (light_child.hpp).

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sdk/support/resource_limit.hpp"

namespace harena::shim {

struct Entrance {
  int init_pidfd = -1;
  /// For one setns(2); 0: none.
  int namespaces = 0;
  int host_proc = -1;
  int null_device = -1;
  /// `tasks` files of the v1 groups that count processes or memory.
  std::vector<int> counting_groups;
  /// pids.current and pids.max of each group that has them.
  std::vector<std::pair<int, int>> process_counts;
  /// Bounding set; absent: as it is.
  std::optional<std::uint64_t> capabilities;
  std::vector<ResourceLimit> limits;
  /// What is written to attr/exec; empty: nothing.
  std::string apparmor;
};

}  // namespace harena::shim
