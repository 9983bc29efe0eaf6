// recover: what is left of a machine after a restart of the daemon, and how one ended.

#include <fcntl.h>

#include "plugins/qemu/backend.hpp"
#include "plugins/qemu/errors.hpp"
#include "sdk/support/files.hpp"
#include "sdk/vmm/control_client.hpp"
#include "sdk/vmm/machine_end.hpp"

namespace harena::qemu {
namespace {

constexpr std::int64_t kStatusPatienceMs = 180'000;
constexpr std::int64_t kPartingNs = 3'000'000'000;

}  // namespace

bool goes_on(const ProcessRef& machine) {
  const auto process = open_process(machine);
  if (!process.ok()) return process.error().code != ErrorCode::not_found;
  return !wait_process_end(process->get(), monotonic_now_ns() + kPartingNs);
}

Status QemuBackend::adopt(Engine& engine, const std::string& id, const SandboxState& state) {
  if (state.boot.empty()) return make_error(ErrorCode::not_found, "its creation was interrupted");
  HARENA_TRY(const std::string boot, boot_id());
  if (boot != state.boot) return make_error(ErrorCode::not_found, "the machine was restarted");
  auto process = open_process(state.machine);
  if (!process.ok() && process.error().code != ErrorCode::not_found) return std::move(process).error();
  if (!process.ok()) return make_error(ErrorCode::not_found, "harena-qemu-machine has ended");
  {
    std::lock_guard lock(mutex_);
    if (records_.count(id) != 0) return {};  // known already: recover is idempotent
    if (auto held = users_.acquire_exactly(state.uid); !held.ok()) {  // the machine's own process holds it too
      host_.warning("the user " + std::to_string(state.uid) + " of " + id + ": " + held.error().describe());
    }
    records_[id] = Record{false, state};
  }
  return engine.watcher->watch(id, *std::move(process));
}

Result<json> QemuBackend::give_up(Engine& engine, const std::string& id, const SandboxState& state, const Error& why) {
  const auto ending = vmm::read_ending(state.vm_dir, why.message);
  {
    std::lock_guard lock(mutex_);
    records_.emplace(id, Record{false, state});
  }
  HARENA_TRY_STATUS(remove(engine, id, 0));
  return json{{"status", "gone"}, {"cause", to_string(ending.cause)}, {"detail", ending.detail}};
}

Result<json> QemuBackend::recover(const Call&, std::string_view sandbox_id, std::string_view text) {
  const std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(Engine* engine, this->engine());
  SandboxState state;  // without one its create never ended: whatever there is of it is half-made
  if (const auto record = record_of(id); record && !record->creating) {
    state = record->state;
  } else if (!text.empty()) {
    HARENA_TRY(state, SandboxState::decode(text));
  }
  if (auto adopted = adopt(*engine, id, state); !adopted.ok()) {
    if (adopted.error().code != ErrorCode::not_found) return std::move(adopted).error();
    return give_up(*engine, id, state, adopted.error());
  }
  // A verb that the dead daemon had asked for is finished first: its outcome is what counts.
  const auto status = vmm::ask_machine_process(state.control(), {{"verb", "status"}}, kStatusPatienceMs);
  if (!status.ok()) {
    // A verb may take longer than we wait, and its machine is whole: only one whose process has ended is given up.
    if (goes_on(state.machine)) return Error(status.error()).during("asking a machine that lives");
    return give_up(*engine, id, state, status.error());
  }
  if (const auto dropped = drop_fork(id, state); !dropped.ok()) {
    host_.warning("what a fork left of " + id + ": " + dropped.error().describe());
  }
  const bool paused = status->value("state", "") == "paused";
  return json{{"status", paused ? "paused" : "running"}, {"session_endpoint", ""}};
}

void QemuBackend::on_exit(const std::string& id) {
  const auto record = record_of(id);
  if (!record) return;
  const auto ending = vmm::read_ending(record->state.vm_dir, "harena-qemu-machine ended");
  host_.sandbox_exited(id, ending.cause, ending.detail);
}

}  // namespace harena::qemu
