// recover: what is left of a sandbox after a restart of the daemon, and how a sandbox ended.

#include <fcntl.h>

#include "plugins/container/backend.hpp"
#include "plugins/container/backend_errors.hpp"
#include "plugins/container/standstill.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

constexpr std::int64_t kThawPatienceNs = 10'000'000'000;

/// What the shim wrote down at its end (shim/README.md). Root inside can't end init, and nobody inside can reach the shim: an
/// end that nobody asked for is this machine's, unless the memory limit brought it.
struct Ending {
  Cause cause;
  std::string detail;
};
Ending ending_of(const SandboxState& state, const std::string& otherwise) {
  auto text = read_file_at(AT_FDCWD, state.state_dir + "/session/exit.json");
  if (text.ok()) {
    const json document = json::parse(*text, nullptr, false);
    if (document.is_object() && document.value("cause", json()) == "oom") return {Cause::limit, "memory"};
  }
  return {Cause::infrastructure, otherwise};
}

}  // namespace

Status ContainerBackend::adopt(Engine& engine, const std::string& id, const SandboxState& state) {
  if (state.boot.empty()) return make_error(ErrorCode::not_found, "its creation was interrupted");
  HARENA_TRY(std::string boot, boot_id());
  if (boot != state.boot) return make_error(ErrorCode::not_found, "the machine was restarted");
  HARENA_TRY(UniqueFd shim, open_process(state.shim));
  HARENA_TRY(UniqueFd init, open_process(state.init));
  HARENA_TRY(auto group, engine.cgroups.open_sandbox(id));
  {
    std::lock_guard lock(mutex_);
    if (records_.count(id) != 0) return {};  // known already: recover is idempotent
    // A range outside of the pool is of an earlier configuration: nobody else gets it from here.
    auto held = ids_.acquire_exactly(state.first_id);
    if (!held.ok() && held.error().code != ErrorCode::out_of_range) return held;
    records_[id] = Record{.creating = false, .first_id = state.first_id, .state = state};
  }
  if (auto cpus = cpus_of(state.init.pid); cpus.ok()) places_.adopt(id, *cpus);
  engine.launcher->retain_layers(state.layers);
  HARENA_TRY_STATUS(settle_root(engine, id, state));
  HARENA_TRY_STATUS(Standstill::recover(group, state.state_dir, monotonic_now_ns() + kThawPatienceNs));
  return engine.watcher->watch(id, std::move(shim));
}

Result<json> ContainerBackend::give_up(Engine& engine, const std::string& id, SandboxState state, const Error& why) {
  if (!state.state_dir.empty()) layers_beside(state.state_dir);  // what nobody needs there goes
  // What is half dead is of no use to anybody; what is left of it (its groups, its upper) goes with it.
  state.layers.clear();
  const Ending ending = ending_of(state, why.message);
  {
    std::lock_guard lock(mutex_);
    records_.emplace(id, Record{.creating = false, .state = std::move(state)});
  }
  HARENA_TRY_STATUS(remove(engine, id, 0));
  return json{{"status", "gone"}, {"cause", to_string(ending.cause)}, {"detail", ending.detail}};
}

Result<json> ContainerBackend::recover(const Call&, std::string_view sandbox_id, std::string_view text) {
  const std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(Engine* engine, this->engine());
  // Without a state its create never ended: whatever there is of it is half-made.
  SandboxState state;
  if (const auto record = record_of(id); record && !record->creating && !record->ended) {
    state = record->state;
  } else if (!text.empty()) {
    HARENA_TRY(state, SandboxState::decode(text));
  }
  auto adopted = adopt(*engine, id, state);
  if (!adopted.ok()) return give_up(*engine, id, state, adopted.error());
  HARENA_TRY(auto group, engine->cgroups.open_sandbox(id));
  HARENA_TRY(bool frozen, group.frozen());
  return json{{"status", frozen ? "paused" : "running"}, {"session_endpoint", state.endpoint}};
}

void ContainerBackend::on_exit(const std::string& id) {
  const auto record = record_of(id);
  if (!record) return;
  const Ending ending = ending_of(record->state, "shim");
  host_.sandbox_exited(id, ending.cause, ending.detail);
}

}  // namespace harena::container
