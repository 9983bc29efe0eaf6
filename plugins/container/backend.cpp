#include "plugins/container/backend.hpp"

#include <algorithm>
#include <cerrno>

#include "plugins/container/backend_errors.hpp"
#include "plugins/container/doctor/findings.hpp"
#include "plugins/container/sandbox_plan.hpp"
#include "plugins/container/standstill.hpp"
#include "sdk/support/seccomp_profile.hpp"

namespace harena::container {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kLockPatienceNs = 2'000 * kMs;
constexpr std::int64_t kFreezePatienceNs = 10'000 * kMs;

std::int64_t deadline_of(const Call& call, std::int64_t patience_ns) {
  const std::int64_t own = monotonic_now_ns() + patience_ns;
  return call.deadline_ns() == 0 ? own : std::min(own, call.deadline_ns());
}

}  // namespace

Result<std::unique_ptr<ContainerBackend>> ContainerBackend::make(const Call&, Host host, const json& config) {
  HARENA_TRY(Settings settings, Settings::parse(config));
  return std::make_unique<ContainerBackend>(host, std::move(settings));
}

Result<ContainerBackend::Engine*> ContainerBackend::engine() {
  std::lock_guard lock(engine_mutex_);
  if (engine_) return engine_.get();
  HARENA_TRY(auto layout, detect_cgroups());
  HARENA_TRY(auto cgroups, CgroupTree::open(layout, settings_.cgroup_parent, settings_.instance));
  HARENA_TRY(UniqueFd held, cgroups.lock_within(kLockPatienceNs));
  HARENA_TRY(auto program, seccomp_profile(SeccompScope::container).compile(ENOSYS));
  HARENA_TRY(UniqueFd seccomp, seccomp_memfd(program));
  auto apparmor = prepare_apparmor(settings_.apparmor, settings_.instance);
  if (!apparmor.ok() && settings_.apparmor == ApparmorMode::required) return std::move(apparmor).error();
  if (!apparmor.ok()) host_.warning("sandboxes go on without an AppArmor profile: " + apparmor.error().message);
  auto made = std::make_unique<Engine>(Engine{std::move(layout), std::move(cgroups), std::move(held), std::move(seccomp),
                                              apparmor.ok() ? *apparmor : "",
                                              std::make_unique<LxcfsView>(settings_.use_lxcfs, !settings_.place_on_cpus),
                                              std::make_unique<SandboxDisks>(settings_.disk, settings_.ready_disks), nullptr, nullptr, nullptr,
                                              std::make_unique<SerialWorker>()});
  made->launcher = std::make_unique<LauncherClient>(settings_, made->cgroups);
  made->watcher = std::make_unique<ExitWatcher>([this](const std::string& id) { on_exit(id); });
  made->pool = std::make_unique<BlankPool>(BlankPool::Parts{*made->launcher, made->cgroups, ids_, *made->lxcfs},
                                           BlankPool::Limits{settings_.pool, std::chrono::seconds(settings_.pool_idle_s), settings_.place_on_cpus ? 1 : 0});
  engine_ = std::move(made);
  return engine_.get();
}

Result<json> ContainerBackend::describe(const Call&) {
  return json{{"name", "container"},
              {"params_schema", parameters_schema()},
              {"kept", {{"pause", "memory"}, {"snapshot", "filesystem"}, {"fork", "filesystem"}, {"rollback", "filesystem"}}},
              {"session", true},
              {"needs_image", true},
              {"seccomp_profile_version", kSeccompProfileVersion}};
}

Result<json> ContainerBackend::probe(const Call&) {
  json document = probe_host(settings_);
  BlankPool::Counts pool{.size = settings_.pool};
  {
    std::lock_guard lock(engine_mutex_);
    if (engine_) pool = engine_->pool->counts();
  }
  auto& facts = document["facts"];
  facts["prepared"] = pool.waiting;
  facts["pool"] = {{"size", pool.size}, {"waiting", pool.waiting}, {"made", pool.made}, {"used", pool.used}};
  Findings found;
  find_pool(pool, found);
  for (const auto& finding : found.list()) facts["findings"].push_back(finding);
  return document;
}

std::optional<ContainerBackend::Record> ContainerBackend::record_of(const std::string& id) const {
  std::lock_guard lock(mutex_);
  auto found = records_.find(id);
  return found == records_.end() ? std::nullopt : std::optional(found->second);
}

Result<CgroupGroup> ContainerBackend::group_of(Engine& engine, std::string_view id) const {
  HARENA_TRY_STATUS(check_id(id));
  const auto record = record_of(std::string(id));
  if (!record || record->ended) return unknown_sandbox(id);
  auto group = engine.cgroups.open_sandbox(std::string(id));
  if (!group.ok()) return unknown_sandbox(id);
  return group;
}

Result<json> ContainerBackend::usage(const Call&, std::string_view sandbox_id) {
  HARENA_TRY(Engine* engine, this->engine());
  HARENA_TRY(auto group, group_of(*engine, sandbox_id));
  HARENA_TRY(auto usage, engine->cgroups.usage(std::string(sandbox_id)));
  json document = json::object();
  auto put = [&document](const char* key, const std::optional<std::int64_t>& value) {
    if (value) document[key] = *value;
  };
  put("cpu_ns", usage.cpu_ns);
  put("cpu_throttled_ns", usage.cpu_throttled_ns);
  put("memory_bytes", usage.memory_bytes);
  put("memory_peak_bytes", usage.memory_peak_bytes);
  if (usage.pids) document["pids"] = std::max<std::int64_t>(0, *usage.pids - kOwnPids);
  put("oom_kills", usage.oom_kills);
  if (const auto record = record_of(std::string(sandbox_id))) {
    if (const auto disk = engine->disks->usage({record->state.state_dir, record->state.first_id})) {
      document["disk_bytes"] = disk->bytes;
      document["inodes"] = disk->inodes;
    }
  }
  return document;
}

Result<json> ContainerBackend::pause(const Call& call, std::string_view sandbox_id) {
  HARENA_TRY(Engine* engine, this->engine());
  HARENA_TRY(auto group, group_of(*engine, sandbox_id));
  if (const auto record = record_of(std::string(sandbox_id))) Standstill::forget(record->state.state_dir);
  HARENA_TRY_STATUS(group.freeze(deadline_of(call, kFreezePatienceNs)));
  return json{{"kept", "memory"}};
}

Result<json> ContainerBackend::resume(const Call& call, std::string_view sandbox_id) {
  HARENA_TRY(Engine* engine, this->engine());
  HARENA_TRY(auto group, group_of(*engine, sandbox_id));
  HARENA_TRY_STATUS(group.thaw(deadline_of(call, kFreezePatienceNs)));
  return json{{"kept", "memory"}};
}

}  // namespace harena::container

HARENA_PLUGIN(harena::container::ContainerBackend)
