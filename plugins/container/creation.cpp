// create: claims the id, makes groups, folders and socket, asks the launcher, watches the shim. Undone as a whole on failure.

#include "plugins/container/backend.hpp"
#include "plugins/container/backend_errors.hpp"
#include "plugins/container/host_disk.hpp"
#include "plugins/container/own_disk.hpp"
#include "plugins/container/sandbox_folders.hpp"
#include "plugins/container/sandbox_plan.hpp"
#include "plugins/container/sandbox_user.hpp"
#include "sdk/support/fault.hpp"

namespace harena::container {

Result<json> ContainerBackend::create(const Call& call, const json& request) { return create_on(call, request, {}); }

Result<json> ContainerBackend::create_on(const Call& call, const json& request, const std::vector<FrozenLayer>& frozen) {
  const auto id = request.at("sandbox_id").get<std::string>();
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(auto parameters, parse_parameters(request.value("params", json::object())));
  HARENA_TRY(Granted granted, grant(settings_.allowances, parameters.weakening));
  HARENA_TRY_STATUS(call.check());
  auto ready = engine();
  if (!ready.ok()) return infrastructure(std::move(ready).error(), "cgroup");
  {
    std::lock_guard lock(mutex_);
    if (!records_.emplace(id, Record{}).second) return make_error(ErrorCode::already_exists, "sandbox '" + id + "' exists");
  }
  // An id whose groups exist is in use too, by a sandbox that nobody told us about: nothing of it is touched.
  if (auto existing = (*ready)->cgroups.open_sandbox(id); existing.ok()) {
    std::lock_guard lock(mutex_);
    records_.erase(id);
    return make_error(ErrorCode::already_exists, "sandbox '" + id + "' exists");
  }
  auto made = create_recorded(call, **ready, id, request, parameters, granted, frozen);
  // Told when it is made: a refused one weakens nothing.
  if (made.ok()) tell_uses(id, granted);
  if (made.ok()) return made;
  (void)remove(**ready, id, 0);
  return infrastructure(std::move(made).error(), "container");
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

Result<UniqueFd> ContainerBackend::make_disk(Engine& engine, const Parameters& parameters, const SandboxState& state,
                                             std::vector<std::string>& missing) const {
  if (parameters.disk_bytes == 0) return UniqueFd();
  auto image = engine.disks->make({state.state_dir, state.first_id}, parameters.disk_bytes, parameters.inodes);
  if (image.ok()) return image;
  if (settings_.allow_missing_limits.count("disk") != 0) {
    missing.push_back("disk");
    return UniqueFd();
  }
  return infrastructure_error(ErrorCode::failed_precondition, "disk",
                              "the limit 'disk' can't be set on this host: " + image.error().message +
                                  "; the operator may allow sandboxes without it (allow_missing_limits)");
}

Result<SandboxState> ContainerBackend::claim(const std::string& id, const json& request) {
  SandboxState state;
  request.at("run_dir").get_to(state.run_dir);
  request.at("state_dir").get_to(state.state_dir);
  state.endpoint = state.run_dir + "/session.sock";
  HARENA_TRY(state.boot, boot_id());
  HARENA_TRY(state.first_id, ids_.acquire());
  std::lock_guard lock(mutex_);
  records_[id].first_id = state.first_id;
  records_[id].state = state;
  return state;
}

Result<LaunchedSandbox> ContainerBackend::launch(const Call& call, Engine& engine, const SandboxRequest& wanted,
                                                 const std::vector<LayerImage>& layers,
                                                 const SandboxGroups& groups, const SandboxState& state,
                                                 const std::vector<int>& extra_fds) {
  HARENA_TRY(auto platform, engine.cgroups.make_platform(wanted.id));
  fault_point("create.groups");
  HARENA_TRY(UniqueFd listening, listen_at(state.endpoint));
  std::vector<int> fds = {groups.v2.get(), platform.fd(), listening.get(), engine.seccomp.get()};
  fds.insert(fds.end(), extra_fds.begin(), extra_fds.end());
  for (const auto& tasks : groups.v1_tasks) fds.push_back(tasks.get());
  fault_point("create.folders");
  return engine.launcher->create(wanted, layers, fds, [&call] { return call.check(); });
}

Status ContainerBackend::publish(const Call& call, Engine& engine, const std::string& id, const SandboxState& state) {
  {
    std::lock_guard lock(mutex_);
    records_[id] = Record{false, state.first_id, state};
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

Result<json> ContainerBackend::create_recorded(const Call& call, Engine& engine, const std::string& id, const json& request,
                                               const Parameters& parameters, const Granted& granted,
                                               const std::vector<FrozenLayer>& frozen) {
  HARENA_TRY(auto layers, layers_of(request));
  HARENA_TRY(auto state, claim(id, request));
  auto wanted = launcher_request(id, request, parameters, granted, layers, state.first_id);
  wanted.apparmor = engine.apparmor;
  HARENA_TRY(wanted.rlimits, rlimits_of(parameters));
  auto lxcfs = engine.lxcfs->now();
  wanted.lxcfs = std::move(lxcfs.files);
  wanted.lxcfs_mount = lxcfs.mount;
  HARENA_TRY(auto limits, limits_here(engine, parameters, state.state_dir));
  limits.account_cpu = !wanted.lxcfs.empty();
  HARENA_TRY(auto groups, engine.cgroups.make_sandbox(id, limits, settings_.allow_missing_limits));
  HARENA_TRY_STATUS(make_folders(state.state_dir, state.first_id));
  HARENA_TRY(UniqueFd disk, make_disk(engine, parameters, state, groups.missing));
  wanted.disk = disk.get() >= 0;
  layers_beside(state.state_dir);  // what nobody needs there goes
  if (wanted.disk) HARENA_TRY_STATUS(name_disk(disk.get(), state.state_dir, RootState()));
  if (!frozen.empty()) HARENA_TRY_STATUS(lay_frozen(id, state, frozen, wanted));
  std::vector<int> extra_fds;
  if (wanted.disk) extra_fds.push_back(disk.get());
  for (const auto& mount : granted.mounts) extra_fds.push_back(mount.get());
  HARENA_TRY(auto made, launch(call, engine, wanted, layers, groups, state, extra_fds));
  const std::string user = parameters.user.empty() ? image_user(request) : parameters.user;
  HARENA_TRY_STATUS(check_sandbox_user(made.init.pid, user));
  state.shim = made.shim;
  state.init = made.init;
  state.layers = wanted.layers;
  HARENA_TRY_STATUS(place_new(id, parameters, state.init));
  for (const auto& layer : layers) state.layer_paths.push_back(layer.path);
  state.readonly_rootfs = wanted.readonly_rootfs;
  state.disk_bytes = wanted.disk ? parameters.disk_bytes : 0;
  state.inodes = parameters.inodes;
  HARENA_TRY_STATUS(publish(call, engine, id, state));
  const json details = {{"init_pid", state.init.pid},
                        {"first_id", state.first_id},
                        {"user", user},
                        {"weakened", granted.uses},
                        {"missing_limits", groups.missing},
                        {"stages_us", made.stages}};
  return json{{"state", state.encode()}, {"session_endpoint", state.endpoint}, {"details", details}};
}

}  // namespace harena::container
