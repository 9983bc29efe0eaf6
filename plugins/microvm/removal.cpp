// stop and sweep: everything of a machine is found from its id alone, whatever died in between.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "plugins/microvm/backend.hpp"
#include "plugins/microvm/errors.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/vmm/machine_end.hpp"

namespace harena::microvm {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kRemovePatienceNs = 20'000 * kMs;
constexpr std::int64_t kMostGraceMs = 600'000;

}  // namespace

Status MicrovmBackend::remove(Engine& engine, const std::string& id, std::int64_t grace_ms) {
  const auto record = record_of(id);
  const SandboxState state = record ? record->state : SandboxState();
  engine.watcher->forget(id);
  fault_point("microvm.remove.begun");
  if (grace_ms > 0 && record && !record->creating) {
    // A guest that doesn't listen is ended all the same.
    (void)ask_machine(state.run_dir, {{"verb", "power_off"}, {"grace_ms", grace_ms}}, grace_ms + 10'000);
  }
  const std::int64_t deadline = monotonic_now_ns() + kRemovePatienceNs;
  HARENA_TRY_STATUS(vmm::end_machine_process(engine.cgroups, id, state.machine, deadline));
  fault_point("microvm.remove.machine");
  HARENA_TRY_STATUS(engine.cgroups.remove_sandbox(id, deadline));
  if (!record) return {};
  if (!state.state_dir.empty()) {
    const std::filesystem::path vm(state.vm_dir);
    // The folder above is there as soon as anything was made in it.
    if (auto folder = open_directory(AT_FDCWD, vm.parent_path()); folder.ok()) HARENA_TRY_STATUS(remove_tree_at(folder->get(), vm.filename()));
  }
  fault_point("microvm.remove.files");
  if (state.uid != 0) users_.release(state.uid);
  std::lock_guard lock(mutex_);
  records_.erase(id);
  return {};
}

Status MicrovmBackend::stop(const Call&, std::string_view sandbox_id, std::int64_t grace_ms) {
  HARENA_TRY_STATUS(check_id(sandbox_id));
  HARENA_TRY(Engine* engine, this->engine());
  auto removed = remove(*engine, std::string(sandbox_id), std::clamp<std::int64_t>(grace_ms, 0, kMostGraceMs));
  return removed.ok() ? Status() : Status(of_this_host(std::move(removed).error()));
}

Result<json> MicrovmBackend::sweep(const Call&, const std::vector<std::string>& known_ids) {
  HARENA_TRY(Engine* engine, this->engine());
  HARENA_TRY(auto found, engine->cgroups.sandboxes());
  HARENA_TRY(auto platforms, engine->cgroups.platforms());
  found.merge(platforms);
  for (const auto& id : known_ids) found.erase(id);
  json removed = json::array();
  for (const auto& id : found) {
    if (!check_id(id).ok()) continue;  // not a name that we give
    if (auto record = record_of(id); record && record->creating) continue;
    if (is_warm(id)) continue;
    HARENA_TRY_STATUS(remove(*engine, id, 0));
    removed.push_back(id);
  }
  return json{{"removed", removed}};
}

}  // namespace harena::microvm
