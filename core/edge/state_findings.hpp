#pragma once
// What the file system of the state folder can do for sandboxes: their upper layers, outputs and images lie there.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace harena {

struct StateDisk {
  std::uint64_t type = 0;    // f_type of statfs(2)
  unsigned long flags = 0;   // f_flag of statvfs(3)
  std::uint64_t inodes = 0;  // 0: the file system doesn't count them
  std::uint64_t inodes_available = 0;
};

/// Zeroes for what can't be read.
StateDisk read_state_disk(const std::string& state_dir);
/// Findings in the form of doctor's: at least one, of level "ok" when nothing is wrong.
nlohmann::json state_findings(const StateDisk& disk, const std::string& state_dir);

}  // namespace harena
