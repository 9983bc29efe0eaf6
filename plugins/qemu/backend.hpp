#pragma once
// plugins/qemu: the backend whose sandboxes are full machines (q35, BIOS or UEFI, disk images), without an agent of ours: no
// commands, files
// or ports, but a serial console and VNC.
//
// A sandbox is one process harena-qemu-machine (machine/), which outlives the daemon and owns QEMU. Whatever died in between,
// stop(id) finds
// all of it from the id alone.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "plugins/qemu/machine/machine_config.hpp"
#include "plugins/qemu/machine/machine_snapshot.hpp"
#include "plugins/qemu/settings.hpp"
#include "sdk/cpp/plugin.hpp"
#include "sdk/support/cgroup_tree.hpp"
#include "sdk/support/exit_watcher.hpp"
#include "sdk/vmm/accelerator.hpp"
#include "sdk/vmm/program_version.hpp"
#include "sdk/vmm/sandbox_state.hpp"
#include "sdk/vmm/user_pool.hpp"

namespace harena::qemu {

using plugin::Call;
using plugin::Host;
using vmm::SandboxState;

/// For a verb of a machine: longer than it gives itself for a memory of 64 GiB, which is written at 50 MB/s or more. Others may come first,
/// such as a copy for another sandbox, whatever the verb: one that is given up would be done later.
inline constexpr std::int64_t kKeepPatienceMs = 1'600'000;

/// Of one that didn't do what it was asked: it may be on its way out, and has a moment for it.
bool goes_on(const ProcessRef& machine);

class QemuBackend final : public plugin::BackendPlugin, public plugin::ContainerVerbs {
 public:
  static constexpr plugin::Info kInfo{.licence = "Apache-2.0", .config_schema = kSettingsSchema};
  static Result<std::unique_ptr<QemuBackend>> make(const Call& call, Host host, const json& config);
  QemuBackend(Host host, Settings settings)
      : host_(host), settings_(std::move(settings)), users_(settings_.uid_base, settings_.uids) {}

  Result<json> describe(const Call& call) override;
  Result<json> probe(const Call& call) override;
  Result<json> create(const Call& call, const json& request) override;
  Result<json> recover(const Call& call, std::string_view sandbox_id, std::string_view state) override;
  Status stop(const Call& call, std::string_view sandbox_id, std::int64_t grace_ms) override;
  Result<json> sweep(const Call& call, const std::vector<std::string>& known_ids) override;
  Result<json> usage(const Call& call, std::string_view sandbox_id) override;
  Result<json> pause(const Call& call, std::string_view sandbox_id) override;
  Result<json> resume(const Call& call, std::string_view sandbox_id) override;
  Result<json> snapshot(const Call& call, std::string_view sandbox_id, const json& request) override;
  Result<json> restore(const Call& call, const json& request) override;
  Result<json> fork(const Call& call, std::string_view sandbox_id, const json& requests) override;
  Status rollback(const Call& call, std::string_view sandbox_id, std::string_view snapshot_state) override;
  Result<json> resize(const Call& call, std::string_view sandbox_id, const json& request) override;

 private:
  /// What only works on a usable host, made at the first call that needs it: a plugin can be loaded anywhere.
  struct Engine {
    CgroupTree cgroups;
    UniqueFd lock;
    vmm::AcceleratorChoice accelerator;
    std::unique_ptr<ExitWatcher> watcher;
  };
  struct Record {
    bool creating = true;
    SandboxState state;
  };

  Result<Engine*> engine();
  Result<MachineConfig> machine_config(const Engine& engine, const json& request, std::int64_t& cpu_millicores) const;
  /// A snapshot that a machine goes on from; whether the machine's disks go on holding it.
  struct Origin {
    std::string folder;
    bool keep_tag = true;
    std::optional<MachineSnapshot> snapshot = std::nullopt;
  };
  Result<json> create_from(const Call& call, const json& request, std::optional<Origin> origin);
  CgroupLimits limits_of(std::int64_t cpu_millicores, std::int64_t memory_bytes) const;
  std::int64_t memory_of(const std::string& id);
  Status start_from(Origin& origin, MachineConfig& config) const;
  Result<json> create_claimed(const Call& call, Engine& engine, MachineConfig config, std::int64_t cpu_millicores,
      const std::optional<Origin>& origin);
  Status bring_files(const MachineSnapshot& snapshot, const std::string& folder, const std::string& to);
  json fork_children(const Call& call, const json& requests, const std::string& folder);
  Status drop_fork(const std::string& id, const SandboxState& state);
  Status forget_snapshot(const std::string& snapshot_id);
  Result<json> ask(const std::string& id, const json& request, std::int64_t patience_ms);
  Status remove(Engine& engine, const std::string& id, std::int64_t grace_ms);
  Status adopt(Engine& engine, const std::string& id, const SandboxState& state);
  Result<json> give_up(Engine& engine, const std::string& id, const SandboxState& state, const Error& why);
  std::optional<Record> record_of(const std::string& id) const;
  void on_exit(const std::string& id);

  const Host host_;
  const Settings settings_;
  vmm::UserPool users_;
  vmm::VersionCache versions_;
  std::mutex engine_mutex_;
  std::unique_ptr<Engine> engine_;
  mutable std::mutex mutex_;
  std::map<std::string, Record> records_;
};

}  // namespace harena::qemu
