#pragma once
// Machine: a full machine from its power-on to its end. Verbs come one at a time (sdk/vmm/control_server.hpp).

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "plugins/qemu/machine/console_hub.hpp"
#include "plugins/qemu/machine/machine_config.hpp"
#include "plugins/qemu/machine/qemu_process.hpp"

namespace harena::qemu {

class Machine {
 public:
  /// `loop` outlives it.
  Machine(vmm::EventLoop& loop, MachineConfig config, std::vector<int> group_files);
  ~Machine();

  /// Makes the disks and the seed, powers on. What the guest does then is its own matter: it has no agent.
  Result<json> start();
  Result<json> pause();
  Result<json> resume();
  /// Presses the power button (ACPI).
  Status power_down();
  Result<json> status();

  /// A VNC client waits: serve_vnc() hands it to QEMU, between verbs.
  bool vnc_waiting() const { return !vnc_clients_.empty(); }
  void serve_vnc();
  bool ended() { return !qemu_ || !qemu_->ended().empty(); }
  /// Of one that has ended.
  Error why_ended();
  const std::string& console() const { return console_->text(); }

 private:
  Status make_disks();
  Status make_seed();
  Status listen_vnc();
  Result<json> command(const std::string& name, const json& arguments = json::object());

  vmm::EventLoop& loop_;
  MachineConfig config_;
  std::vector<int> group_files_;
  std::unique_ptr<QemuProcess> qemu_;
  std::unique_ptr<ConsoleHub> console_;
  UniqueFd vnc_listener_;
  std::deque<UniqueFd> vnc_clients_;
};

}  // namespace harena::qemu
