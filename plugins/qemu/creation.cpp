// create: claims the id, makes groups and folders, starts the machine and watches it. Undone as a whole on failure.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "plugins/qemu/backend.hpp"
#include "plugins/qemu/errors.hpp"
#include "plugins/qemu/parameters.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/vmm/control_client.hpp"
#include "sdk/vmm/machine_parts.hpp"

namespace harena::qemu {
namespace {

constexpr std::int64_t kVmmProcesses = 256;  // threads of QEMU, those of up to 64 CPUs among them

}  // namespace

Result<MachineConfig> QemuBackend::machine_config(const Engine& engine, const json& request, std::int64_t& cpu_millicores) const {
  MachineConfig config;
  bool uefi = false;
  HARENA_TRY_STATUS(apply_parameters(request.value("params", json::object()), settings_.disk_roots, config, cpu_millicores, uefi));
  config.asked_cpus = config.cpus;
  config.asked_memory_bytes = config.memory_bytes;
  request.at("sandbox_id").get_to(config.sandbox);
  request.at("run_dir").get_to(config.run_dir);
  config.vm_dir = request.at("state_dir").get<std::string>() + "/vm";
  config.qemu = settings_.qemu_path;
  config.qemu_img = settings_.qemu_img_path;
  config.iso_maker = settings_.iso_maker_path;
  config.kvm = engine.accelerator.accelerator == vmm::Accelerator::kvm;
  config.cpu_model = settings_.cpu_model;
  config.uefi = uefi;
  if (!uefi) return config;
  if (::access(settings_.uefi_code.c_str(), R_OK) != 0 || ::access(settings_.uefi_vars.c_str(), R_OK) != 0) {
    return make_error(ErrorCode::failed_precondition, "parameter 'firmware' is \"uefi\": this host has no " + settings_.uefi_code +
                                                          "; apt-get install ovmf, or \"bios\"");
  }
  config.firmware_code = settings_.uefi_code;
  config.firmware_vars = settings_.uefi_vars;
  return config;
}

CgroupLimits QemuBackend::limits_of(std::int64_t cpu_millicores, std::int64_t memory_bytes) const {
  CgroupLimits limits;
  limits.cpu_millicores = cpu_millicores;
  limits.cpu_weight = cpu_weight_for(cpu_millicores);
  limits.memory_bytes = memory_bytes + settings_.overhead_bytes;
  limits.pids = kVmmProcesses;
  return limits;
}

Status QemuBackend::start_from(Origin& origin, MachineConfig& config) const {
  HARENA_TRY(origin.snapshot, MachineSnapshot::read(origin.folder));
  HARENA_TRY_STATUS(origin.snapshot->check_fits(config));
  const auto& then = origin.snapshot->config;
  config.cpus = then.cpus;
  config.memory_bytes = then.memory_bytes;
  config.plugged = then.plugged;
  config.restore_tag = origin.snapshot->tag;
  config.restore_vmm = origin.snapshot->vmm;
  if (origin.keep_tag) config.restore_folder = origin.folder;
  return {};
}

Result<json> QemuBackend::create(const Call& call, const json& request) { return create_from(call, request, std::nullopt); }

Result<json> QemuBackend::create_from(const Call& call, const json& request, std::optional<Origin> origin) {
  const auto id = request.at("sandbox_id").get<std::string>();
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY_STATUS(call.check());
  auto ready = engine();
  if (!ready.ok()) return of_this_host(std::move(ready).error());
  std::int64_t cpu_millicores = 0;
  HARENA_TRY(auto config, machine_config(**ready, request, cpu_millicores));
  if (origin) HARENA_TRY_STATUS(start_from(*origin, config));
  // An id whose groups exist is in use too, by a sandbox that nobody told us about: nothing of it is touched.
  const bool taken = (*ready)->cgroups.open_sandbox(id).ok();
  {
    std::lock_guard lock(mutex_);
    if (taken || !records_.emplace(id, Record{}).second) return make_error(ErrorCode::already_exists, "sandbox '" + id + "' exists");
    records_[id].state.run_dir = config.run_dir;
    records_[id].state.state_dir = request.at("state_dir").get<std::string>();
    records_[id].state.vm_dir = config.vm_dir;
  }
  auto made = create_claimed(call, **ready, std::move(config), cpu_millicores, origin);
  if (made.ok()) return made;
  (void)remove(**ready, id, 0);
  return of_this_host(std::move(made).error());
}

Result<json> QemuBackend::create_claimed(const Call& call, Engine& engine, MachineConfig config, std::int64_t cpu_millicores,
                                         const std::optional<Origin>& origin) {
  const std::string id = config.sandbox;
  SandboxState state = record_of(id)->state;
  HARENA_TRY(state.boot, boot_id());
  state.cpu_millicores = cpu_millicores;
  HARENA_TRY(state.uid, users_.acquire());
  config.uid = state.uid;
  {
    std::lock_guard lock(mutex_);
    records_[id].state = state;
  }
  const CgroupLimits limits = limits_of(cpu_millicores, std::max(config.all_memory_bytes(), config.asked_memory_bytes));
  HARENA_TRY(auto groups, engine.cgroups.make_sandbox(id, limits, {}));
  HARENA_TRY(auto platform, engine.cgroups.make_platform(id));
  HARENA_TRY(UniqueFd own, vmm::open_procs(platform.fd()));
  HARENA_TRY(UniqueFd v2, vmm::open_procs(groups.v2.get()));
  fault_point("qemu.create.groups");
  HARENA_TRY_STATUS(vmm::make_folder(config.vm_dir));
  HARENA_TRY_STATUS(vmm::make_folder(config.run_dir + "/jail"));
  if (origin) HARENA_TRY_STATUS(bring_files(*origin->snapshot, origin->folder, config.vm_dir));
  const std::string path = config.vm_dir + "/config.json";
  HARENA_TRY_STATUS(create_file_at(AT_FDCWD, path, config.to_json().dump(), 0600));
  std::vector<int> fds = {own.get(), v2.get()};
  for (const auto& tasks : groups.v1_tasks) fds.push_back(tasks.get());
  HARENA_TRY(auto started, vmm::start_machine_process(settings_.machine_path, path, fds, [&call] { return call.check(); }));
  fault_point("qemu.create.started");
  state.machine = started.process;
  {
    std::lock_guard lock(mutex_);
    records_[id] = Record{false, state};
  }
  HARENA_TRY_STATUS(call.check());
  HARENA_TRY(UniqueFd process, open_process(state.machine));
  HARENA_TRY_STATUS(engine.watcher->watch(id, std::move(process)));
  json consoles = {{"serial", config.run_dir + "/console.sock"}};
  if (config.display) consoles["vnc"] = config.run_dir + "/vnc.sock";
  const json details = {{"accelerator", config.kvm ? "kvm" : "tcg"}, {"machine_pid", state.machine.pid}, {"start", started.told},
      {"consoles", consoles}};
  return json{{"state", state.encode()}, {"session_endpoint", ""}, {"details", details}};
}

}  // namespace harena::qemu
