// stop and sweep: everything of a machine is found from its id alone, whatever died in between.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "plugins/qemu/backend.hpp"
#include "plugins/qemu/errors.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/vmm/control_client.hpp"
#include "sdk/vmm/machine_end.hpp"

namespace harena::qemu {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kRemovePatienceNs = 20'000 * kMs;
constexpr std::int64_t kMostGraceMs = 600'000;

}  // namespace

Status QemuBackend::remove(Engine& engine, const std::string& id, std::int64_t grace_ms) {
  const auto record = record_of(id);
  const SandboxState state = record ? record->state : SandboxState();
  engine.watcher->forget(id);
  fault_point("qemu.remove.begun");
  if (grace_ms > 0 && record && !record->creating) {
    // A guest that doesn't listen is ended all the same.
    (void)vmm::ask_machine_process(state.control(), {{"verb", "power_off"}, {"grace_ms", grace_ms}}, grace_ms + 10'000);
  }
  const std::int64_t deadline = monotonic_now_ns() + kRemovePatienceNs;
  HARENA_TRY_STATUS(vmm::end_machine_process(engine.cgroups, id, state.machine, deadline));
  fault_point("qemu.remove.machine");
  HARENA_TRY_STATUS(engine.cgroups.remove_sandbox(id, deadline));
  if (!record) return {};
  if (!state.state_dir.empty()) {
    HARENA_TRY(UniqueFd folder, open_directory(AT_FDCWD, state.state_dir));
    HARENA_TRY_STATUS(remove_tree_at(folder.get(), "vm"));
  }
  fault_point("qemu.remove.files");
  if (state.uid != 0) users_.release(state.uid);
  std::lock_guard lock(mutex_);
  records_.erase(id);
  return {};
}

Status QemuBackend::stop(const Call&, std::string_view sandbox_id, std::int64_t grace_ms) {
  HARENA_TRY_STATUS(check_id(sandbox_id));
  HARENA_TRY(Engine* engine, this->engine());
  if (!record_of(std::string(sandbox_id))) HARENA_TRY_STATUS(forget_snapshot(std::string(sandbox_id)));
  auto removed = remove(*engine, std::string(sandbox_id), std::clamp<std::int64_t>(grace_ms, 0, kMostGraceMs));
  return removed.ok() ? Status() : Status(of_this_host(std::move(removed).error()));
}

Result<json> QemuBackend::sweep(const Call&, const std::vector<std::string>& known_ids) {
  HARENA_TRY(Engine* engine, this->engine());
  HARENA_TRY(auto found, engine->cgroups.sandboxes());
  HARENA_TRY(auto platforms, engine->cgroups.platforms());
  found.merge(platforms);
  for (const auto& id : known_ids) found.erase(id);
  json removed = json::array();
  for (const auto& id : found) {
    if (!check_id(id).ok()) continue;  // not a name that we give
    if (auto record = record_of(id); record && record->creating) continue;
    HARENA_TRY_STATUS(remove(*engine, id, 0));
    removed.push_back(id);
  }
  return json{{"removed", removed}};
}

}  // namespace harena::qemu
