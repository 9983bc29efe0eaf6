// create: claims the id, makes groups and folders, starts the machine and watches it. Undone as a whole on failure.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "plugins/microvm/backend.hpp"
#include "plugins/microvm/clone_hooks.hpp"
#include "plugins/microvm/errors.hpp"
#include "plugins/microvm/start_command.hpp"
#include "sdk/base/random.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/vmm/machine_parts.hpp"

namespace harena::microvm {
namespace {

constexpr std::int64_t kVmmProcesses = 128;  // threads of a VMM beside those of its CPUs

Result<std::vector<MachineLayer>> layers_of(const json& request) {
  std::vector<MachineLayer> layers;
  for (const auto& layer : request.value("layers", json::array())) {
    const auto format = layer.value("format", "erofs");
    if (format != "erofs") return make_error(ErrorCode::unimplemented, "a layer of format '" + format + "': a microVM mounts erofs");
    layers.push_back({layer.at("digest").get<std::string>(), layer.at("path").get<std::string>()});
  }
  if (layers.empty()) return make_error(ErrorCode::invalid_argument, "a microVM needs an image: 'image' is missing");
  // The machine has 24 virtio-mmio slots: channel, disk and balloon take three.
  constexpr std::size_t kMostLayers = 20;
  if (layers.size() > kMostLayers) {
    return make_error(ErrorCode::invalid_argument, "an image of " + std::to_string(layers.size()) + " layers: a microVM has room for " + std::to_string(kMostLayers));
  }
  return layers;
}

/// Environment of commands: the image's, over which the parameters', over which the request's own.
std::map<std::string, std::string> environment_of(const json& request, const Parameters& parameters) {
  std::map<std::string, std::string> env;
  for (const auto& entry : request.value("image_config", json::object()).value("env", std::vector<std::string>{})) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos && equals > 0) env[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  for (const auto& [name, value] : parameters.env) env[name] = value;
  for (const auto& [name, value] : request.value("env", std::map<std::string, std::string>())) env[name] = value;
  return env;
}

}  // namespace

Result<json> MicrovmBackend::create(const Call& call, const json& request) {
  HARENA_TRY_STATUS(check_id(request.at("sandbox_id").get<std::string>()));
  HARENA_TRY(const auto parameters, parse_parameters(request.value("params", json::object())));
  if (parameters.verify_all) {
    return make_error(ErrorCode::invalid_argument, "parameter 'verify' is \"all\": it is for a create with 'snapshot'");
  }
  if (settings_.templates && parameters.templates != TemplateUse::none) return create_warm(call, request, parameters);
  if (parameters.templates == TemplateUse::make) {
    return make_error(ErrorCode::failed_precondition, "parameter 'template' is \"make\": templates are off in this host's configuration");
  }
  return create_from(call, request, {});
}

Result<json> MicrovmBackend::create_from(const Call& call, const json& request, Origin origin) {
  const auto id = request.at("sandbox_id").get<std::string>();
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(const auto parameters, parse_parameters(request.value("params", json::object())));
  HARENA_TRY_STATUS(call.check());
  auto ready = engine();
  if (!ready.ok()) return of_this_host(std::move(ready).error());
  // An id whose groups exist is in use too, by a sandbox that nobody told us about: nothing of it is touched.
  const bool taken = (*ready)->cgroups.open_sandbox(id).ok();
  {
    std::lock_guard lock(mutex_);
    if (taken || !records_.emplace(id, Record{}).second) return make_error(ErrorCode::already_exists, "sandbox '" + id + "' exists");
  }
  auto made = create_claimed(call, **ready, request, parameters, origin);
  if (made.ok()) return made;
  (void)remove(**ready, id, 0);
  return of_this_host(std::move(made).error());
}

std::string MicrovmBackend::vm_dir_of(const std::string& id, const std::string& state_dir) const {
  if (settings_.memory_dir.empty()) return state_dir + "/vm";
  return settings_.memory_dir + "/" + settings_.instance + "/machines/" + id;
}

Result<SandboxState> MicrovmBackend::claim(const std::string& id, const json& request, const Origin& origin) {
  SandboxState state;
  request.at("run_dir").get_to(state.run_dir);
  request.at("state_dir").get_to(state.state_dir);
  state.vm_dir = vm_dir_of(id, state.state_dir);
  HARENA_TRY(state.boot, boot_id());
  if (origin.spare) {
    state.uid = origin.spare->uid;
    state.machine = origin.spare->process;
  } else {
    HARENA_TRY(state.uid, users_.acquire());
  }
  std::lock_guard lock(mutex_);
  records_[id].state = state;
  return state;
}

CgroupLimits MicrovmBackend::limits_of(const Parameters& parameters) const {
  CgroupLimits limits;
  limits.cpu_millicores = parameters.cpu_millicores;
  limits.cpu_weight = cpu_weight_for(parameters.cpu_millicores);
  limits.memory_bytes = parameters.memory_bytes + settings_.overhead_bytes;
  limits.pids = kVmmProcesses + 2 * parameters.cpus();
  return limits;
}

Result<MicrovmBackend::Groups> MicrovmBackend::make_groups(Engine& engine, const std::string& id, const Parameters& parameters) {
  HARENA_TRY(auto made, engine.cgroups.make_sandbox(id, limits_of(parameters), settings_.allow_missing_limits));
  HARENA_TRY(auto platform, engine.cgroups.make_platform(id));
  Groups groups;
  HARENA_TRY(groups.platform, vmm::open_procs(platform.fd()));
  HARENA_TRY(UniqueFd v2, vmm::open_procs(made.v2.get()));
  groups.joins.push_back(std::move(v2));
  for (auto& tasks : made.v1_tasks) groups.joins.push_back(std::move(tasks));
  groups.missing = std::move(made.missing);
  return groups;
}

Result<MachineConfig> MicrovmBackend::machine_config(const Engine& engine, const json& request, const Parameters& parameters,
                                                     const SandboxState& state, const std::string& from) const {
  MachineConfig config{.sandbox = request.at("sandbox_id").get<std::string>(), .run_dir = state.run_dir, .vm_dir = state.vm_dir, .from = from,
                       .vmm = settings_.vmm, .program = settings_.program(), .jailer = settings_.vmm == "firecracker" ? settings_.jailer_path : "",
                       .firmware_dir = settings_.firmware_dir, .kernel = settings_.kernel, .initramfs = settings_.initramfs};
  config.accelerator = engine.accelerator.accelerator;
  config.cpu_model = settings_.cpu_model;
  config.tsc_khz = engine.tsc_khz;
  config.cpus = parameters.cpus();
  config.ram_bytes = parameters.memory_bytes;
  config.disk_bytes = parameters.disk_bytes;
  config.disk_limits = parameters.disk_limits;
  HARENA_TRY(config.layers, layers_of(request));
  config.uid = state.uid;
  config.hostname = parameters.hostname.empty() ? config.sandbox : parameters.hostname;
  SystemRandom random;
  config.machine_id = random.hex(16);
  config.env = environment_of(request, parameters);
  config.pids = parameters.pids;
  if (parameters.open_files > 0) config.rlimits.push_back("nofile=" + std::to_string(parameters.open_files));
  config.readonly_root = parameters.readonly_rootfs;
  config.start_timeout_ms = settings_.start_timeout_ms;
  return config;
}

void MicrovmBackend::tell_clone(const SandboxState& state, const MachineConfig& config, const std::function<Status()>& check,
                                json& told) {
  if (told.contains("hooks")) told["hooks"] = run_clone_hooks(state.endpoint(), config, told["hooks"], check);
}

Result<json> MicrovmBackend::create_claimed(const Call& call, Engine& engine, const json& request, const Parameters& parameters, Origin& origin) {
  const auto id = request.at("sandbox_id").get<std::string>();
  HARENA_TRY(auto state, claim(id, request, origin));
  state.cpu_millicores = parameters.cpu_millicores;
  HARENA_TRY(const auto config, machine_config(engine, request, parameters, state, origin.folder));
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(state.vm_dir).parent_path(), failed);
  HARENA_TRY_STATUS(vmm::make_folder(state.run_dir + "/jail"));
  if (origin.spare) {
    std::vector<std::string> missing;
    HARENA_TRY(auto started, claim_spare(engine, config, parameters, *origin.spare, missing));
    tell_clone(state, config, [&call] { return call.check(); }, started.told);
    return answer_of(call, engine, request, parameters, state, missing, std::move(started.told));
  }
  HARENA_TRY(const auto groups, make_groups(engine, id, parameters));
  fault_point("microvm.create.groups");
  HARENA_TRY_STATUS(vmm::make_folder(state.vm_dir));
  std::vector<int> joins;
  for (const auto& file : groups.joins) joins.push_back(file.get());
  const CheckCall check = [&call] { return call.check(); };
  HARENA_TRY(auto started, start_machine(settings_.machine_path, config, groups.platform.get(), joins, check));
  fault_point("microvm.create.started");
  state.machine = started.process;
  if (origin.folder.empty()) HARENA_TRY_STATUS(run_start_command(state.endpoint(), start_of(request, parameters), check));
  tell_clone(state, config, check, started.told);
  return answer_of(call, engine, request, parameters, state, groups.missing, std::move(started.told));
}

Result<json> MicrovmBackend::answer_of(const Call& call, Engine& engine, const json& request, const Parameters& parameters, const SandboxState& state,
                                       const std::vector<std::string>& missing, json told) {
  const auto id = request.at("sandbox_id").get<std::string>();
  {
    std::lock_guard lock(mutex_);
    records_[id] = Record{false, state};
  }
  HARENA_TRY_STATUS(call.check());
  HARENA_TRY(UniqueFd process, open_process(state.machine));
  HARENA_TRY_STATUS(engine.watcher->watch(id, std::move(process)));
  json details = {{"user", start_of(request, parameters).user},
                  {"accelerator", engine.accelerator.accelerator == Accelerator::kvm ? "kvm" : "tcg"},
                  {"missing_limits", missing},
                  {"machine_pid", state.machine.pid},
                  {"start", std::move(told)}};
  return json{{"state", state.encode()}, {"session_endpoint", state.endpoint()}, {"details", details}};
}

}  // namespace harena::microvm
