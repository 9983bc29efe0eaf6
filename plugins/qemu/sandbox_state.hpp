#pragma once
// What the core keeps of a full machine for us, so that it is found again after a restart: the opaque `state` of create.

#include <nlohmann/json.hpp>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/support/process.hpp"

namespace harena::qemu {

struct SandboxState {
  /// Raised when a field changes its meaning; an unknown one is refused.
  static constexpr int kVersion = 1;
  std::string boot;  // boot id: after a reboot no process of it lives
  ProcessRef machine;
  std::uint32_t uid = 0;
  std::string run_dir;
  std::string state_dir;

  std::string vm_dir() const { return state_dir + "/vm"; }
  std::string encode() const;
  /// failed_precondition for another version, data_loss for what encode() can't have made.
  static Result<SandboxState> decode(std::string_view text);
};

}  // namespace harena::qemu
