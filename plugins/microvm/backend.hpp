#pragma once
// plugins/microvm: the backend whose sandboxes are virtual machines, each with its kernel, under QEMU's microvm machine.
//
// A sandbox is one process harena-machine (machine/), which outlives the daemon and owns the VMM, and the groups of its VMM (by id). The plugin
// only keeps who they are; whatever died in between, stop(id) finds all of it from the id alone.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "plugins/microvm/image_sealer.hpp"
#include "plugins/microvm/machine_client.hpp"
#include "plugins/microvm/parameters.hpp"
#include "plugins/microvm/settings.hpp"
#include "plugins/microvm/template_store.hpp"
#include "plugins/microvm/warmer.hpp"
#include "sdk/cpp/plugin.hpp"
#include "sdk/support/cgroup_tree.hpp"
#include "sdk/support/exit_watcher.hpp"
#include "sdk/vmm/program_version.hpp"
#include "sdk/vmm/sandbox_state.hpp"
#include "sdk/vmm/user_pool.hpp"

namespace harena::microvm {

using plugin::Call;
using plugin::Host;
using vmm::SandboxState;

class MicrovmBackend final : public plugin::BackendPlugin {
 public:
  static constexpr plugin::Info kInfo{.licence = "Apache-2.0", .config_schema = kSettingsSchema};
  static Result<std::unique_ptr<MicrovmBackend>> make(const Call& call, Host host, const json& config);
  MicrovmBackend(Host host, Settings settings)
      : host_(host), settings_(std::move(settings)), users_(settings_.uid_base, settings_.uids),
        sealer_([this](const std::string& problem) { host_.warning(problem); }) {}

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

 private:
  /// What only works on a usable host, made at the first call that needs it: a plugin can be loaded anywhere.
  struct Engine {
    CgroupTree cgroups;
    UniqueFd lock;
    AcceleratorChoice accelerator;
    std::int64_t tsc_khz = 0;
    std::unique_ptr<ExitWatcher> watcher;
  };
  struct Record {
    bool creating = true;
    SandboxState state;
  };
  /// The files that join a sandbox's groups, and its machine's own.
  struct Groups {
    UniqueFd platform;
    std::vector<UniqueFd> joins;
    std::vector<std::string> missing;
  };

  /// What a sandbox starts from: nothing (it boots), a machine image, or one that stands by with that.
  struct Origin {
    std::string folder = {};
    std::optional<Spare> spare = {};
  };
  /// Templates and machines that stand by, and where they are. Made at the first create, whose folders say where.
  struct Warmth {
    std::string home, run;
    std::unique_ptr<TemplateStore> store;
    std::mutex making;
    std::unique_ptr<Warmer> warmer;  // last: it uses all of the above
  };

  Result<Engine*> engine();
  Result<json> create_from(const Call& call, const json& request, Origin origin);
  Result<json> create_claimed(const Call& call, Engine& engine, const json& request, const Parameters& parameters, Origin& origin);
  Result<json> answer_of(const Call& call, Engine& engine, const json& request, const Parameters& parameters, const SandboxState& state,
                         const std::vector<std::string>& missing, json told);
  /// Runs the hooks that `told` (Machine::start, claim) names, and says there what became of them.
  static void tell_clone(const SandboxState& state, const MachineConfig& config, const std::function<Status()>& check, json& told);
  Result<SandboxState> claim(const std::string& id, const json& request, const Origin& origin);
  std::string vm_dir_of(const std::string& id, const std::string& state_dir) const;
  CgroupLimits limits_of(const Parameters& parameters) const;

  // warm_creation.cpp
  bool is_warm(const std::string& name);
  Result<Warmth*> warmth(const json& request);
  Result<json> create_warm(const Call& call, const json& request, const Parameters& parameters);
  Result<TemplateOrder> order_of(const json& request, const Parameters& parameters);
  Status make_template(Engine& engine, Warmth& warmth, const TemplateOrder& order, const std::function<Status()>& check);
  Status boot_template(Engine& engine, Warmth& warmth, const TemplateOrder& order, const SandboxState& state, const std::string& name,
                       const std::function<Status()>& check);
  Result<Spare> make_spare(Engine& engine, Warmth& warmth, const TemplateOrder& order, const std::string& name,
                           const std::function<Status()>& check);
  void end_spare(Engine& engine, Warmth& warmth, Spare spare);
  Status remove_hidden(Engine& engine, Warmth& warmth, const std::string& name, const ProcessRef& process, std::uint32_t uid);
  static Status remove_hidden_folders(const Warmth& warmth, const std::string& name);
  Result<StartedMachine> claim_spare(Engine& engine, MachineConfig config, const Parameters& parameters, Spare& spare,
                                     std::vector<std::string>& missing);
  Result<Groups> make_groups(Engine& engine, const std::string& id, const Parameters& parameters);
  Result<MachineConfig> machine_config(const Engine& engine, const json& request, const Parameters& parameters, const SandboxState& state,
                                       const std::string& from) const;
  Result<json> ask(const std::string& id, const json& request);
  Result<json> fork_children(const Call& call, const json& requests, const std::string& from);
  Status verify_snapshot(const std::string& folder, bool all);
  Status remove(Engine& engine, const std::string& id, std::int64_t grace_ms);
  Status adopt(Engine& engine, const std::string& id, const SandboxState& state);
  Status revive(Engine& engine, const std::string& id, SandboxState state);
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
  ImageSealer sealer_;
  std::unique_ptr<Warmth> warmth_;  // last: it uses all of the above
};

}  // namespace harena::microvm
