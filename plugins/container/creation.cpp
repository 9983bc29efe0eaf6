// create: claims the id, makes groups, folders and socket, asks the launcher, watches the shim. Undone as a whole on failure.

#include <filesystem>

#include "plugins/container/backend.hpp"
#include "plugins/container/backend_errors.hpp"
#include "plugins/container/host_disk.hpp"
#include "plugins/container/own_disk.hpp"
#include "plugins/container/sandbox_folders.hpp"
#include "plugins/container/sandbox_plan.hpp"
#include "plugins/container/sandbox_user.hpp"
#include "sdk/support/fault.hpp"

namespace harena::container {
namespace {

/// Where a group is to be found on this machine: on v2 that of a sandbox which was prepared has another name than its id.
std::string path_of(const UniqueFd& group) {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(group.get()), unknown).string();
}

}  // namespace

Result<json> ContainerBackend::create(const Call& call, const json& request) { return create_on(call, request, nullptr); }

Result<json> ContainerBackend::create_on(const Call& call, const json& request, const FrozenLayers& frozen) {
  const auto id = request.at("sandbox_id").get<std::string>();
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(auto parameters, parse_parameters(request.value("params", json::object())));
  HARENA_TRY(Granted granted, grant(settings_.allowances, parameters.weakening));
  HARENA_TRY_STATUS(call.check());
  auto ready = engine();
  if (!ready.ok()) return infrastructure(std::move(ready).error(), "cgroup");
  HARENA_TRY_STATUS(take_id(**ready, id));
  BlankPool::Serving serving(*(*ready)->pool);
  auto made = create_recorded(call, **ready, id, request, parameters, granted, frozen);
  // Told when it is made: a refused one weakens nothing.
  if (made.ok()) tell_uses(id, granted);
  if (made.ok()) return made;
  (void)remove(**ready, id, 0);
  return infrastructure(std::move(made).error(), "container");
}

/// An id whose groups exist is in use too, by a sandbox that nobody told us about: nothing of it is touched.
Status ContainerBackend::take_id(Engine& engine, const std::string& id) {
  const auto in_use = [&id] { return make_error(ErrorCode::already_exists, "sandbox '" + id + "' exists"); };
  // One that was stopped a moment ago has its id until nothing of it is left.
  if (const auto record = record_of(id); record && record->ended) engine.remains->wait_idle();
  {
    std::lock_guard lock(mutex_);
    if (!records_.emplace(id, Record{}).second) return in_use();
  }
  if (!engine.cgroups.open_sandbox(id).ok()) return {};
  std::lock_guard lock(mutex_);
  records_.erase(id);
  return in_use();
}

Result<CgroupLimits> ContainerBackend::limits_here(const Engine& engine, const Parameters& parameters, const std::string& state_dir) const {
  CgroupLimits limits = limits_of(parameters);
  if (!limits.cpuset.empty()) HARENA_TRY_STATUS(check_cpus_online(limits.cpuset));
  if (limits.io_weight == 0 && !limits.io.wanted()) return limits;
  auto disk = disk_of_folder(state_dir);
  if (!disk.ok()) {
    limits.impossible = {{"io_weight", disk.error().message}, {"io_bandwidth", disk.error().message}};
    return limits;
  }
  limits.io.major = disk->major;
  limits.io.minor = disk->minor;
  if (std::string why = why_no_io_weight(*disk, engine.layout); !why.empty()) limits.impossible["io_weight"] = why;
  return limits;
}

Result<SandboxDisk> ContainerBackend::make_disk(Engine& engine, const Parameters& parameters, const SandboxState& state,
                                             std::vector<std::string>& missing) const {
  if (parameters.disk_bytes == 0) return SandboxDisk();
  auto disk = engine.disks->make({state.state_dir, state.first_id}, parameters.disk_bytes, parameters.inodes);
  if (disk.ok()) return disk;
  if (settings_.allow_missing_limits.count("disk") != 0) {
    missing.push_back("disk");
    return SandboxDisk();
  }
  return infrastructure_error(ErrorCode::failed_precondition, "disk",
                              "the limit 'disk' can't be set on this host: " + disk.error().message +
                                  "; the operator may allow sandboxes without it (allow_missing_limits)");
}

Result<std::uint32_t> ContainerBackend::acquire_range(Engine& engine) {
  auto first_id = ids_.acquire();
  // Those who wait take no place from those who live.
  while (!first_id.ok() && engine.pool->sacrifice_one()) first_id = ids_.acquire();
  if (first_id.ok()) return first_id;
  // A stop gives its range back a moment after its answer: who stops one and makes another finds room.
  engine.remains->wait_idle();
  return ids_.acquire();
}

Result<SandboxState> ContainerBackend::claim(const std::string& id, const json& request, std::uint32_t first_id) {
  SandboxState state;
  state.first_id = first_id;
  {
    // At once: from here on removing the record gives the range back.
    std::lock_guard lock(mutex_);
    records_[id].first_id = first_id;
  }
  request.at("run_dir").get_to(state.run_dir);
  request.at("state_dir").get_to(state.state_dir);
  state.endpoint = state.run_dir + "/session.sock";
  HARENA_TRY(state.boot, boot_id());
  std::lock_guard lock(mutex_);
  records_[id].state = state;
  return state;
}

Result<LaunchedSandbox> ContainerBackend::launch(const Call& call, Engine& engine, const Plan& plan, const SandboxGroups& groups,
                                                 const SandboxState& state, const std::vector<int>& extra_fds, const Blank* blank) {
  const auto check = [&call] { return call.check(); };
  std::vector<int> fds;
  std::optional<CgroupGroup> platform;
  if (blank == nullptr) {
    HARENA_TRY(platform, engine.cgroups.make_platform(plan.wanted.id));
    fds = {groups.v2.get(), platform->fd()};
  }
  fault_point("create.groups");
  HARENA_TRY(UniqueFd listening, listen_at(state.endpoint));
  fds.insert(fds.end(), {listening.get(), engine.seccomp.get()});
  fds.insert(fds.end(), extra_fds.begin(), extra_fds.end());
  for (const auto& tasks : groups.v1_tasks) fds.push_back(tasks.get());
  fault_point("create.folders");
  if (blank != nullptr) return engine.launcher->fill(blank->prepared, plan.wanted, plan.layers, fds, check);
  return engine.launcher->create(plan.wanted, plan.layers, fds, check);
}

Status ContainerBackend::publish(const Call& call, Engine& engine, const std::string& id, const SandboxState& state) {
  {
    std::lock_guard lock(mutex_);
    records_[id] = Record{.creating = false, .first_id = state.first_id, .state = state};
  }
  fault_point("create.launched");
  HARENA_TRY_STATUS(call.check());
  HARENA_TRY(UniqueFd shim, open_process(state.shim));
  return engine.watcher->watch(id, std::move(shim));
}

void ContainerBackend::tell_uses(const std::string& id, const Granted& granted) const {
  for (const auto& use : granted.uses) {
    host_.warning("sandbox " + id + " is weaker by an allowance of the operator: " + use);
    host_.event({{"type", "sandbox_weakened"}, {"sandbox_id", id}, {"detail", use}});
  }
}

Result<ContainerBackend::Plan> ContainerBackend::plan(Engine& engine, const std::string& id, const json& request,
                                                      const Parameters& parameters, const Granted& granted,
                                                      const FrozenLayers& frozen) const {
  HARENA_TRY(auto layers, layers_of(request));
  auto wanted = launcher_request(id, request, parameters, granted, layers, 0);
  wanted.apparmor = engine.apparmor;
  HARENA_TRY(wanted.rlimits, rlimits_of(parameters));
  auto lxcfs = engine.lxcfs->now();
  wanted.lxcfs = std::move(lxcfs.files);
  wanted.lxcfs_mount = lxcfs.mount;
  std::optional<StageWish> stage;
  if (parameters.disk_bytes == 0 && !frozen && !wanted.readonly_rootfs) stage = StageWish{stages_beside(wanted.state_dir), layers};
  return Plan{request, parameters, granted, frozen, std::move(layers), std::move(wanted), std::move(stage)};
}

Result<json> ContainerBackend::create_recorded(const Call& call, Engine& engine, const std::string& id, const json& request,
                                               const Parameters& parameters, const Granted& granted,
                                               const FrozenLayers& frozen) {
  HARENA_TRY(auto plan, this->plan(engine, id, request, parameters, granted, frozen));
  if (auto blank = engine.pool->take(plan.wanted, plan.stage)) {
    auto made = make(call, engine, id, plan, &*blank);
    if (made.ok()) {
      engine.pool->filled(*std::move(blank), plan.wanted.staged);
      return made;
    }
    // Whatever it was, the direct way shows whether it is the blank's fault or the request's.
    const Status undone = remove(engine, id, 0);
    engine.pool->discard(*std::move(blank));
    HARENA_TRY_STATUS(undone);
    HARENA_TRY_STATUS(call.check());
    std::lock_guard lock(mutex_);
    records_.emplace(id, Record{});
  }
  return make(call, engine, id, plan, nullptr);
}

Result<ContainerBackend::Prepared> ContainerBackend::prepare(Engine& engine, const std::string& id, Plan& plan, const Blank* blank) {
  Prepared ready;
  HARENA_TRY(const auto first_id, blank != nullptr ? Result(blank->first_id) : acquire_range(engine));
  HARENA_TRY(ready.state, claim(id, plan.request, first_id));
  plan.wanted.first_id = first_id;
  HARENA_TRY(auto limits, limits_here(engine, plan.parameters, ready.state.state_dir));
  limits.account_cpu = !plan.wanted.lxcfs.empty();
  HARENA_TRY(ready.groups, groups_for(engine, id, limits, blank));
  plan.wanted.staged = blank != nullptr && plan.stage && blank->has_root(*plan.stage);
  if (plan.wanted.staged) {
    HARENA_TRY_STATUS(take_stage(blank->request.stage, ready.state.state_dir));
    HARENA_TRY_STATUS(make_session_folder(ready.state.state_dir));
  } else {
    HARENA_TRY_STATUS(make_folders(ready.state.state_dir, first_id));
  }
  HARENA_TRY(ready.disk, make_disk(engine, plan.parameters, ready.state, ready.groups.missing));
  HARENA_TRY_STATUS(prepare_root(id, plan, ready));
  HARENA_TRY(ready.cpus, cpus_for(id, plan.parameters));
  plan.wanted.cpus = static_cast<int>(ready.cpus.size());
  return ready;
}

Result<SandboxGroups> ContainerBackend::groups_for(Engine& engine, const std::string& id, const CgroupLimits& limits, const Blank* blank) const {
  const auto& allowed = settings_.allow_missing_limits;
  if (blank == nullptr) return engine.cgroups.make_sandbox(id, limits, allowed);
  auto adopted = engine.cgroups.adopt_blank(blank->name, id, limits, allowed);
  if (adopted.ok()) fault_point("create.adopted");
  return adopted;
}

Status ContainerBackend::prepare_root(const std::string& id, Plan& plan, const Prepared& ready) {
  plan.wanted.disk = ready.disk.there();
  layers_beside(ready.state.state_dir);  // what nobody needs there goes
  if (plan.wanted.disk) HARENA_TRY_STATUS(name_disk(ready.disk.image.get(), ready.state.state_dir, RootState()));
  if (!plan.frozen) return {};
  HARENA_TRY(const auto frozen, plan.frozen());
  return frozen.empty() ? Status() : lay_frozen(id, ready.state, frozen, plan.wanted);
}

void ContainerBackend::record_launched(const Plan& plan, const LaunchedSandbox& made, SandboxState& state) {
  state.shim = made.shim;
  state.init = made.init;
  state.layers = plan.wanted.layers;
  for (const auto& layer : plan.layers) state.layer_paths.push_back(layer.path);
  state.readonly_rootfs = plan.wanted.readonly_rootfs;
  state.disk_bytes = plan.wanted.disk ? plan.parameters.disk_bytes : 0;
  state.inodes = plan.parameters.inodes;
}

Result<json> ContainerBackend::make(const Call& call, Engine& engine, const std::string& id, Plan& plan, Blank* blank) {
  HARENA_TRY(auto ready, prepare(engine, id, plan, blank));
  std::vector<int> extra_fds;
  if (plan.wanted.disk) extra_fds.push_back(ready.disk.for_launcher());
  for (const auto& mount : plan.granted.mounts) extra_fds.push_back(mount.get());
  HARENA_TRY(auto made, launch(call, engine, plan, ready.groups, ready.state, extra_fds, blank));
  const std::string user = plan.parameters.user.empty() ? image_user(plan.request) : plan.parameters.user;
  HARENA_TRY_STATUS(check_sandbox_user(made.init.pid, user));
  if (!ready.cpus.empty()) HARENA_TRY_STATUS(set_cpus(made.init.pid, ready.cpus));
  record_launched(plan, made, ready.state);
  HARENA_TRY_STATUS(publish(call, engine, id, ready.state));
  if (plan.stage) engine.pool->expect(*plan.stage, plan.wanted.cpus);
  const json details = {{"init_pid", made.init.pid},
                        {"cgroup", path_of(ready.groups.v2)},
                        {"first_id", ready.state.first_id},
                        {"user", user},
                        {"weakened", plan.granted.uses},
                        {"missing_limits", ready.groups.missing},
                        {"prepared", blank != nullptr},
                        {"prepared_root", plan.wanted.staged},
                        {"ready_disk", ready.disk.mount.get() >= 0},
                        {"stages_us", made.stages}};
  return json{{"state", ready.state.encode()}, {"session_endpoint", ready.state.endpoint}, {"details", details}};
}

}  // namespace harena::container
