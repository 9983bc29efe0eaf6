#pragma once
// What the core keeps of a machine for its backend, so that it is found again after a restart: the opaque `state` of create.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"
#include "sdk/support/process.hpp"

namespace harena::vmm {

struct SandboxState {
  /// Raised when a field changes its meaning; an unknown one is refused.
  static constexpr int kVersion = 1;
  std::string boot;  // boot id: after a reboot no process of it lives
  ProcessRef machine;
  std::uint32_t uid = 0;
  std::string run_dir;
  std::string state_dir;
  std::string vm_dir;  // RAM, disks and state; without another place state_dir/vm
  std::int64_t cpu_millicores = 0;  // 0: not told; its groups can't be made again

  /// The socket of its sessions, where it has any.
  std::string endpoint() const { return run_dir + "/session.sock"; }
  /// The socket of its process (control_client.hpp).
  std::string control() const { return run_dir + "/machine.sock"; }
  std::string encode() const;
  /// failed_precondition for another version, data_loss for what encode() can't have made.
  static Result<SandboxState> decode(std::string_view text);
};

}  // namespace harena::vmm
