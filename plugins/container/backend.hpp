#pragma once
// plugins/container: the backend whose sandboxes are groups of processes in namespaces of their own.
//
// The kernel is the only database: a sandbox is its cgroups (by id), its shim's cgroup (by id), and two processes. Whatever died in
// between, stop(id) finds all of it from the id alone.

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "plugins/container/blank_pool.hpp"
#include "plugins/container/cpu_places.hpp"
#include "plugins/container/launcher_client.hpp"
#include "plugins/container/lxcfs.hpp"
#include "plugins/container/layer_store.hpp"
#include "plugins/container/parameters.hpp"
#include "plugins/container/root_change.hpp"
#include "plugins/container/sandbox_disks.hpp"
#include "plugins/container/sandbox_state.hpp"
#include "plugins/container/settings.hpp"
#include "sdk/base/serial_worker.hpp"
#include "sdk/cpp/plugin.hpp"
#include "sdk/support/exit_watcher.hpp"
#include "sdk/support/id_range.hpp"

namespace harena::container {

using plugin::Call;
using plugin::Host;

class ContainerBackend final : public plugin::BackendPlugin, public plugin::ContainerVerbs {
 public:
  using plugin::BackendPlugin::kContract;
  static constexpr plugin::Info kInfo{.licence = "Apache-2.0", .config_schema = kSettingsSchema};
  static Result<std::unique_ptr<ContainerBackend>> make(const Call& call, Host host, const json& config);

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

  ContainerBackend(Host host, Settings settings) : host_(host), settings_(std::move(settings)), ids_(settings_.id_base, settings_.id_ranges) {}

 private:
  /// What only works on a usable host, made at the first call that needs it: a plugin can be loaded anywhere.
  struct Engine {
    CgroupLayout layout;
    CgroupTree cgroups;
    UniqueFd lock;
    UniqueFd seccomp;
    std::string apparmor;  // profile; empty: none
    std::unique_ptr<LxcfsView> lxcfs;
    std::unique_ptr<SandboxDisks> disks;
    std::unique_ptr<LauncherClient> launcher;
    std::unique_ptr<ExitWatcher> watcher;
    std::unique_ptr<BlankPool> pool;
    std::unique_ptr<SerialWorker> remains;  // last: what it has still to do is done before the others go
  };
  struct Record {
    bool creating = true;
    bool ended = false;  // no process is left, the rest is being removed
    std::uint32_t first_id = 0;
    SandboxState state;
  };

  /// The layers that a source was frozen to; `pin` uses them.
  struct FrozenSource {
    std::vector<FrozenLayer> layers;
    std::string how;  // "frozen": the upper became a layer; "copied": commands run, or it has a disk of its own or a quota; "shared": nothing new
    std::int64_t copied_bytes = 0;
  };

  Result<Engine*> engine();
  /// Says on which frozen layers a sandbox is made, or why there are none. Asked when all the rest is ready, so it may take its time, and
  /// perhaps twice; null: on none. [any thread]
  using FrozenLayers = std::function<Result<std::vector<FrozenLayer>>()>;
  Result<json> create_on(const Call& call, const json& request, const FrozenLayers& frozen);
  Status lay_frozen(const std::string& id, const SandboxState& state, const std::vector<FrozenLayer>& frozen, SandboxRequest& wanted);
  Result<FrozenSource> freeze_source(const Call& call, Engine& engine, const std::string& id, const std::string& pin);
  Result<FrozenSource> copy_source(const Call& call, const SandboxState& state, const RootChange& root, const std::string& pin);
  /// Children, made while their source is being frozen.
  using FreezingSource = std::shared_future<Result<FrozenSource>>;
  Result<json> fork_child(const Call& call, const FreezingSource& source, const json& request);
  Result<json> fork_children(const Call& call, const FreezingSource& source, const json& requests);
  Status roll_back(const Call& call, Engine& engine, const std::string& id, const std::vector<FrozenLayer>& layers);
  Status settle_root(Engine& engine, const std::string& id, const SandboxState& state);
  /// The store beside the folder; what nobody needs is removed when it is first seen.
  LayerStore& layers_beside(const std::string& state_dir);
  /// An id that no sandbox has may be that of a snapshot which was deleted.
  Status forget_user(const std::string& id);
  Status collect_layers(const std::vector<std::string>& known_ids);
  Status forget_layers(const std::string& id, const SandboxState& state);
  /// What a create needs that is checked, from which one or, after a blank that died, two attempts are made.
  struct Plan {
    const json& request;
    const Parameters& parameters;
    const Granted& granted;
    const FrozenLayers& frozen;
    std::vector<LayerImage> layers;
    SandboxRequest wanted;
    std::optional<StageWish> stage;  // the root that it wants, if that can be made in advance
  };
  Result<Plan> plan(Engine& engine, const std::string& id, const json& request, const Parameters& parameters, const Granted& granted,
                    const FrozenLayers& frozen) const;
  Result<json> create_recorded(const Call& call, Engine& engine, const std::string& id, const json& request, const Parameters& parameters,
                               const Granted& granted, const FrozenLayers& frozen);
  /// What a sandbox has before the launcher is asked. Undone by remove(id), at whatever step it failed.
  struct Prepared {
    SandboxState state;
    SandboxGroups groups;
    SandboxDisk disk;
    CpuSet cpus;
  };
  /// `blank`, here and below: null, or what becomes this sandbox.
  Result<Prepared> prepare(Engine& engine, const std::string& id, Plan& plan, const Blank* blank);
  Result<SandboxGroups> groups_for(Engine& engine, const std::string& id, const CgroupLimits& limits, const Blank* blank) const;
  Status prepare_root(const std::string& id, Plan& plan, const Prepared& ready);
  static void record_launched(const Plan& plan, const LaunchedSandbox& made, SandboxState& state);
  Result<json> make(const Call& call, Engine& engine, const std::string& id, Plan& plan, Blank* blank);
  /// Makes the record of a new sandbox; already_exists when the id is in use.
  Status take_id(Engine& engine, const std::string& id);
  Result<std::uint32_t> acquire_range(Engine& engine);
  void tell_uses(const std::string& id, const Granted& granted) const;
  Result<CgroupLimits> limits_here(const Engine& engine, const Parameters& parameters, const std::string& state_dir) const;
  /// The CPUs that its threads get (cpu_places.hpp); empty: all there are, the operator doesn't want them to be chosen.
  Result<CpuSet> cpus_for(const std::string& id, const Parameters& parameters);
  /// Everything that runs in it, after its `cpu` or cpuset has changed.
  Status place_again(const CgroupGroup& group, const std::string& id, const Parameters& parameters, const ProcessRef& init);
  Result<SandboxDisk> make_disk(Engine& engine, const Parameters& parameters, const SandboxState& state,
                             std::vector<std::string>& missing) const;
  Result<SandboxState> claim(const std::string& id, const json& request, std::uint32_t first_id);
  Result<LaunchedSandbox> launch(const Call& call, Engine& engine, const Plan& plan, const SandboxGroups& groups, const SandboxState& state,
                                 const std::vector<int>& extra_fds, const Blank* blank);
  Status publish(const Call& call, Engine& engine, const std::string& id, const SandboxState& state);
  Status stop_recorded(Engine& engine, const std::string& id, std::int64_t grace_ms);
  static Status end(Engine& engine, const std::string& id, const SandboxState& state, std::int64_t grace_ms);
  Status clear(Engine& engine, const std::string& id);
  bool mark_ended(const std::string& id);
  /// Both, one after the other; waits for what an earlier stop has left to be done.
  Status remove(Engine& engine, const std::string& id, std::int64_t grace_ms);
  static Status remove_old_blank(Engine& engine, const std::string& name);
  Result<json> give_up(Engine& engine, const std::string& id, SandboxState state, const Error& why);
  Status adopt(Engine& engine, const std::string& id, const SandboxState& state);
  std::optional<Record> record_of(const std::string& id) const;
  void on_exit(const std::string& id);
  Result<CgroupGroup> group_of(Engine& engine, std::string_view id) const;

  const Host host_;
  const Settings settings_;
  IdRangePool ids_;
  CpuPlaces places_;
  mutable std::mutex mutex_;
  std::map<std::string, Record> records_;
  std::set<std::string> known_;  // of the last sweep
  bool swept_ = false;
  std::map<std::string, std::unique_ptr<LayerStore>> layer_stores_;  // by folder
  std::mutex engine_mutex_;
  std::unique_ptr<Engine> engine_;
};

/// probe's document for this host.
json probe_host(const Settings& settings);

}  // namespace harena::container
