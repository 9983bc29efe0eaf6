#pragma once
// What the core keeps of a container for us, so that it is found again after a restart: the opaque `state` of create.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/support/process.hpp"

namespace harena::container {

struct SandboxState {
  /// Raised when a field changes its meaning; an unknown one is refused.
  static constexpr int kVersion = 1;

  std::string boot;  // boot id: after a reboot nothing of it lives
  ProcessRef shim;
  ProcessRef init;
  std::uint32_t first_id = 0;
  std::string run_dir;
  std::string state_dir;
  std::string endpoint;
  std::vector<std::string> layers;
  /// What another root of the same sandbox is made from (root_change.hpp). Absent in the state of an older release.
  std::vector<std::string> layer_paths;  // in the order of layers
  bool readonly_rootfs = false;
  std::int64_t disk_bytes = 0;  // 0: the upper is in state_dir
  std::int64_t inodes = 0;

  std::string encode() const;
  /// failed_precondition for another version, data_loss for what encode() can't have made.
  static Result<SandboxState> decode(std::string_view text);
};

}  // namespace harena::container
