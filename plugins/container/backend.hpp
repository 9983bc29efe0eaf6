#pragma once
// plugins/container: the backend whose sandboxes are groups of processes in namespaces of their own.
//
// The kernel is the only database: a sandbox is its cgroups (by id), its shim's cgroup (by id), and two processes. Whatever died in
// between, stop(id) finds all of it from the id alone.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "plugins/container/disk_images.hpp"
#include "plugins/container/exit_watcher.hpp"
#include "plugins/container/launcher_client.hpp"
#include "plugins/container/lxcfs.hpp"
#include "plugins/container/parameters.hpp"
#include "plugins/container/sandbox_state.hpp"
#include "plugins/container/settings.hpp"
#include "sdk/cpp/plugin.hpp"
#include "sdk/support/id_range.hpp"

namespace harena::container {

using plugin::Call;
using plugin::Host;

class ContainerBackend final : public plugin::BackendPlugin {
 public:
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
    std::unique_ptr<DiskImages> disks;
    std::unique_ptr<LauncherClient> launcher;
    std::unique_ptr<ExitWatcher> watcher;
  };
  struct Record {
    bool creating = true;
    std::uint32_t first_id = 0;
    SandboxState state;
  };

  Result<Engine*> engine();
  Result<json> create_recorded(const Call& call, Engine& engine, const std::string& id, const json& request, const Parameters& parameters,
                               const Granted& granted);
  void tell_uses(const std::string& id, const Granted& granted) const;
  Result<CgroupLimits> limits_here(const Engine& engine, const Parameters& parameters, const SandboxRequest& wanted) const;
  Result<UniqueFd> make_disk(Engine& engine, const Parameters& parameters, const std::string& folder,
                             std::vector<std::string>& missing) const;
  Result<SandboxState> claim(const std::string& id, const json& request);
  Result<LaunchedSandbox> launch(const Call& call, Engine& engine, const SandboxRequest& wanted,
                                 const std::vector<LayerImage>& layers,
                                 const SandboxGroups& groups, const SandboxState& state, const std::vector<int>& extra_fds);
  Status publish(const Call& call, Engine& engine, const std::string& id, const SandboxState& state);
  Status remove(Engine& engine, const std::string& id, std::int64_t grace_ms);
  Result<json> give_up(Engine& engine, const std::string& id, SandboxState state, const Error& why);
  Status adopt(Engine& engine, const std::string& id, const SandboxState& state);
  std::optional<Record> record_of(const std::string& id) const;
  void on_exit(const std::string& id);
  Result<CgroupGroup> group_of(Engine& engine, std::string_view id) const;

  const Host host_;
  const Settings settings_;
  IdRangePool ids_;
  mutable std::mutex mutex_;
  std::map<std::string, Record> records_;
  std::mutex engine_mutex_;
  std::unique_ptr<Engine> engine_;
};

/// probe's document for this host.
json probe_host(const Settings& settings);

}  // namespace harena::container
