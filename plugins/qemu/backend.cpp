#include "plugins/qemu/backend.hpp"

#include "plugins/qemu/errors.hpp"
#include "plugins/qemu/parameters.hpp"
#include "plugins/qemu/probe.hpp"
#include "sdk/vmm/control_client.hpp"

namespace harena::qemu {
namespace {

constexpr std::int64_t kLockPatienceNs = 2'000'000'000;

}  // namespace

Result<std::unique_ptr<QemuBackend>> QemuBackend::make(const Call&, Host host, const json& config) {
  HARENA_TRY(Settings settings, Settings::parse(config));
  return std::make_unique<QemuBackend>(host, std::move(settings));
}

Result<QemuBackend::Engine*> QemuBackend::engine() {
  std::lock_guard lock(engine_mutex_);
  if (engine_) return engine_.get();
  HARENA_TRY(const auto accelerator, vmm::choose_accelerator(settings_.accelerator));
  HARENA_TRY(auto layout, detect_cgroups());
  HARENA_TRY(auto cgroups, CgroupTree::open(layout, settings_.cgroup_parent, settings_.instance));
  HARENA_TRY(UniqueFd held, cgroups.lock_within(kLockPatienceNs));
  auto made = std::make_unique<Engine>(Engine{std::move(cgroups), std::move(held), accelerator, nullptr});
  made->watcher = std::make_unique<ExitWatcher>([this](const std::string& id) { on_exit(id); });
  engine_ = std::move(made);
  return engine_.get();
}

Result<json> QemuBackend::describe(const Call&) {
  const json kept = {{"pause", "memory"}, {"snapshot", "memory"}, {"fork", "memory"}, {"rollback", "memory"}};
  return json{{"name", "qemu"}, {"params_schema", parameters_schema()}, {"kept", kept}, {"session", false}, {"needs_image", false}};
}

Result<json> QemuBackend::probe(const Call&) { return report_host(settings_, versions_).probe(); }

std::optional<QemuBackend::Record> QemuBackend::record_of(const std::string& id) const {
  std::lock_guard lock(mutex_);
  auto found = records_.find(id);
  return found == records_.end() ? std::nullopt : std::optional(found->second);
}

Result<json> QemuBackend::ask(const std::string& id, const json& request, std::int64_t patience_ms) {
  HARENA_TRY_STATUS(check_id(id));
  const auto record = record_of(id);
  if (!record || record->creating) return unknown_sandbox(id);
  return vmm::ask_machine_process(record->state.control(), request, patience_ms);
}

Result<json> QemuBackend::usage(const Call&, std::string_view sandbox_id) {
  const std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(Engine* engine, this->engine());
  const auto record = record_of(id);
  if (!record || record->creating) return unknown_sandbox(id);
  HARENA_TRY(const auto usage, engine->cgroups.usage(id));
  json document = json::object();
  if (usage.cpu_ns) document["cpu_ns"] = *usage.cpu_ns;
  if (usage.memory_bytes) document["memory_bytes"] = *usage.memory_bytes;
  if (usage.memory_peak_bytes) document["memory_peak_bytes"] = *usage.memory_peak_bytes;
  return document;
}

Result<json> QemuBackend::pause(const Call&, std::string_view sandbox_id) {
  HARENA_TRY_STATUS(ask(std::string(sandbox_id), {{"verb", "pause"}}, kKeepPatienceMs));
  return json{{"kept", "memory"}};
}

Result<json> QemuBackend::resume(const Call&, std::string_view sandbox_id) {
  HARENA_TRY_STATUS(ask(std::string(sandbox_id), {{"verb", "resume"}}, kKeepPatienceMs));
  return json{{"kept", "memory"}};
}

}  // namespace harena::qemu

HARENA_PLUGIN(harena::qemu::QemuBackend)
