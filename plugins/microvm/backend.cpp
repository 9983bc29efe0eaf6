#include "plugins/microvm/backend.hpp"

#include <algorithm>

#include "plugins/microvm/errors.hpp"
#include "plugins/microvm/probe.hpp"
#include "sdk/support/tsc_rate.hpp"

namespace harena::microvm {
namespace {

constexpr std::int64_t kLockPatienceNs = 2'000'000'000;
/// A verb of a machine: its own steps have patience of their own, some one after the other.
constexpr std::int64_t kVerbPatienceMs = 180'000;
constexpr std::int64_t kMetricsPatienceMs = 1'000;

}  // namespace

Result<std::unique_ptr<MicrovmBackend>> MicrovmBackend::make(const Call&, Host host, const json& config) {
  HARENA_TRY(Settings settings, Settings::parse(config));
  return std::make_unique<MicrovmBackend>(host, std::move(settings));
}

Result<MicrovmBackend::Engine*> MicrovmBackend::engine() {
  std::lock_guard lock(engine_mutex_);
  if (engine_) return engine_.get();
  HARENA_TRY(const auto accelerator, choose_accelerator(settings_.accelerator));
  HARENA_TRY_STATUS(check_vmm(settings_, accelerator));
  HARENA_TRY(auto layout, detect_cgroups());
  HARENA_TRY(auto cgroups, CgroupTree::open(layout, settings_.cgroup_parent, settings_.instance));
  HARENA_TRY(UniqueFd held, cgroups.lock_within(kLockPatienceNs));
  if (accelerator.accelerator == Accelerator::tcg) {
    host_.warning("microVMs run under QEMU's emulation, several times slower than with KVM: " + accelerator.why);
  }
  auto made = std::make_unique<Engine>(Engine{std::move(cgroups), std::move(held), accelerator, static_cast<std::int64_t>(tsc_rate_khz()), nullptr});
  made->watcher = std::make_unique<ExitWatcher>([this](const std::string& id) { on_exit(id); });
  engine_ = std::move(made);
  return engine_.get();
}

Result<json> MicrovmBackend::describe(const Call&) {
  return json{{"name", "microvm"},
              {"params_schema", parameters_schema()},
              {"kept", {{"pause", "memory"}, {"snapshot", "memory"}, {"fork", "memory"}, {"rollback", "memory"}}},
              {"session", true},
              {"needs_image", true}};
}

Result<json> MicrovmBackend::probe(const Call&) {
  auto report = report_host(settings_, versions_);
  std::lock_guard lock(engine_mutex_);
  report.fact("templates", settings_.templates ? "auto" : "off");
  if (!warmth_) return report.probe();
  report.fact("standing_by", warmth_->warmer->waiting());
  // Slower creates, not none: a warning.
  if (const auto problem = warmth_->warmer->problem(); !problem.empty()) {
    report.warning("templates", "microVMs boot, where they would start from templates", problem,
                   "mend what it names; harenad tries again by itself");
  }
  return report.probe();
}

std::optional<MicrovmBackend::Record> MicrovmBackend::record_of(const std::string& id) const {
  std::lock_guard lock(mutex_);
  auto found = records_.find(id);
  return found == records_.end() ? std::nullopt : std::optional(found->second);
}

Result<json> MicrovmBackend::ask(const std::string& id, const json& request) {
  HARENA_TRY_STATUS(check_id(id));
  const auto record = record_of(id);
  if (!record || record->creating) return unknown_sandbox(id);
  return ask_machine(record->state.run_dir, request, kVerbPatienceMs);
}

Result<json> MicrovmBackend::usage(const Call&, std::string_view sandbox_id) {
  const std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(Engine* engine, this->engine());
  const auto record = record_of(id);
  if (!record || record->creating) return unknown_sandbox(id);
  HARENA_TRY(const auto usage, engine->cgroups.usage(id));
  json document = json::object();
  if (usage.cpu_ns) document["cpu_ns"] = *usage.cpu_ns;
  if (usage.cpu_throttled_ns) document["cpu_throttled_ns"] = *usage.cpu_throttled_ns;
  if (usage.memory_bytes) document["memory_bytes"] = *usage.memory_bytes;
  if (usage.memory_peak_bytes) document["memory_peak_bytes"] = *usage.memory_peak_bytes;
  // What the guest counts itself; a paused one has nobody to ask.
  const auto guest = ask_machine(record->state.run_dir, {{"verb", "metrics"}}, kMetricsPatienceMs);
  if (guest.ok()) {
    document["pids"] = guest->value("pids", 0);
    document["oom_kills"] = guest->value("oom_kills", 0);
    document["disk_bytes"] = guest->value("disk_bytes", 0);
    document["guest_memory_bytes"] = guest->value("memory_bytes", 0);
  }
  return document;
}

Result<json> MicrovmBackend::pause(const Call&, std::string_view sandbox_id) {
  HARENA_TRY(json told, ask(std::string(sandbox_id), {{"verb", "pause"}}));
  told["kept"] = "memory";
  return told;
}

Result<json> MicrovmBackend::resume(const Call&, std::string_view sandbox_id) {
  HARENA_TRY(json told, ask(std::string(sandbox_id), {{"verb", "resume"}}));
  told["kept"] = "memory";
  return told;
}

}  // namespace harena::microvm

HARENA_PLUGIN(harena::microvm::MicrovmBackend)
