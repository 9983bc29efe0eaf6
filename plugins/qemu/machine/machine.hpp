#pragma once
// Machine: a full machine from its power-on to its end. Verbs come one at a time (sdk/vmm/control_server.hpp).

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/qemu/machine/console_hub.hpp"
#include "plugins/qemu/machine/machine_config.hpp"
#include "plugins/qemu/machine/qemu_process.hpp"
#include "plugins/qemu/machine/snapshot_jobs.hpp"

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
  /// All of it, memory and disks at one instant, into the disks under `tag`; `folder` (empty, the snapshot's own) names it from then on.
  /// failed_precondition for a disk that can't hold it. The guest stands still meanwhile.
  Result<json> snapshot(const std::string& tag, const std::string& folder);
  /// Back to a snapshot that its disks hold, in a new VMM; running or paused as it was. failed_precondition for any other snapshot.
  Result<json> rollback(const std::string& folder);
  /// Takes a tag out of the disks whose folder is gone. Idempotent.
  Result<json> forget_snapshot(const std::string& tag);
  /// Copies the files of a snapshot that shares the machine's own, which stands still meanwhile, to the folder `to`.
  Result<json> copy_files(const std::string& folder, const std::string& to);
  /// Plugs in what is missing, one after the other, each until the guest has taken it (ACPI's _OST). Nothing is ever taken away:
  /// fewer `cpus` are a success, less memory than there is an invalid_argument unless that is what the record says already.
  /// failed_precondition: the guest doesn't take it, or stands still.
  Result<json> resize(int cpus, std::int64_t memory_bytes);
  /// Presses the power button (ACPI); a paused guest goes on first.
  Status power_down();
  Result<json> status();

  /// A VNC client waits: serve_vnc() hands it to QEMU, between verbs.
  bool vnc_waiting() const { return !vnc_clients_.empty(); }
  void serve_vnc();
  bool ended() { return failed_ || !qemu_ || !qemu_->ended().empty(); }
  /// Of one that has ended.
  Error why_ended();
  const std::string& console() const { return console_->text(); }

 private:
  class Standstill;
  Status launch();
  void end_vmm();
  Status check_room(std::int64_t memory_bytes) const;
  Status check_version(const std::string& then) const;
  Status check_same_program() const;
  Status keep_tag_alone();
  Status go_on_from(const std::string& tag);
  Status check_holds_snapshots() const;
  Status check_new(const std::string& tag);
  Status take_snapshot(const std::string& tag, const std::string& folder);
  Status check_size(std::int64_t memory_bytes) const;
  Status wait_for_plugged(int cpus, std::int64_t memory_bytes);
  Status plug_missing(int cpus, std::int64_t memory_bytes);
  Status plug_cpu();
  Status plug_memory(std::int64_t bytes);
  Status plug(const json& object, const json& device, std::int64_t memory_bytes);
  Status wait_until_taken(const std::string& id);
  Result<bool> running();
  SnapshotJobs jobs();
  std::string tag_file(const std::string& tag) const { return config_.vm_dir + "/" + kTagsFolder + "/" + tag; }
  Status note_tag(const std::string& tag, const std::string& folder) const;
  void forget_deleted();
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
  std::optional<Error> failed_;  ///< a verb came to no good end
};

}  // namespace harena::qemu
