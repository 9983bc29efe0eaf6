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

  std::string encode() const;
  /// failed_precondition for another version, data_loss for what encode() can't have made.
  static Result<SandboxState> decode(std::string_view text);
};

}  // namespace harena::container
