// recover: what is left of a machine after a restart of the daemon, and how one ended.

#include <fcntl.h>

#include <filesystem>

#include "plugins/microvm/backend.hpp"
#include "plugins/microvm/errors.hpp"
#include "plugins/microvm/machine/machine_image.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/vmm/machine_end.hpp"

namespace harena::microvm {
namespace {

constexpr std::int64_t kStatusPatienceMs = 180'000;
constexpr std::int64_t kReviveEndPatienceNs = 20'000'000'000;

/// Which process a machine has since it was revived; the core's state names the one that it was made with.
constexpr const char* kSuccessor = "/machine.state";

void read_successor(SandboxState& state) {
  auto text = read_file_at(AT_FDCWD, state.vm_dir + kSuccessor);
  if (!text.ok()) return;
  if (auto later = SandboxState::decode(*text); later.ok() && later->vm_dir == state.vm_dir) state = *std::move(later);
}

/// What a machine was started with last, for the process that takes its paused image over.
Result<MachineConfig> config_of(const SandboxState& state) {
  HARENA_TRY(const std::string text, read_file_at(AT_FDCWD, state.vm_dir + "/config.json"));
  HARENA_TRY(auto config, MachineConfig::parse(text));
  config.run_dir = state.run_dir;
  config.from.clear();
  config.groups.clear();
  config.standby = false;
  config.paused = true;
  return config;
}

/// A user that a machine got for its new process, until that is its own.
struct NewUser {
  vmm::UserPool& pool;
  std::uint32_t uid = 0;
  ~NewUser() {
    if (uid != 0) pool.release(uid);
  }
};

}  // namespace

/// A machine that was paused is a whole image: another process takes it over, after a reboot too.
Status MicrovmBackend::revive(Engine& engine, const std::string& id, SandboxState state) {
  if (state.vm_dir.empty() || state.cpu_millicores == 0) return make_error(ErrorCode::not_found, "too little is known of it");
  HARENA_TRY(const auto image, MachineImage::read(state.vm_dir));
  HARENA_TRY_STATUS(image.check_files(state.vm_dir));
  HARENA_TRY(auto config, config_of(state));
  const std::int64_t deadline = monotonic_now_ns() + kReviveEndPatienceNs;
  HARENA_TRY_STATUS(vmm::end_machine_process(engine.cgroups, id, state.machine, deadline));
  HARENA_TRY_STATUS(engine.cgroups.remove_sandbox(id, deadline));
  std::error_code failed;
  std::filesystem::create_directories(state.run_dir + "/jail", failed);
  NewUser user{users_};
  if (!record_of(id)) {
    HARENA_TRY(user.uid, users_.acquire_again(state.uid));
    state.uid = user.uid;
  }
  config.uid = state.uid;
  Parameters parameters;
  parameters.cpu_millicores = state.cpu_millicores;
  parameters.memory_bytes = config.ram_bytes;
  HARENA_TRY(const auto groups, make_groups(engine, id, parameters));
  std::vector<int> joins;
  for (const auto& file : groups.joins) joins.push_back(file.get());
  HARENA_TRY(const auto started, start_machine(settings_.machine_path, config, groups.platform.get(), joins, [] { return Status(); }));
  state.machine = started.process;
  HARENA_TRY(state.boot, boot_id());
  fault_point("microvm.revived");
  HARENA_TRY_STATUS(create_file_at(AT_FDCWD, state.vm_dir + kSuccessor, state.encode(), 0600));
  HARENA_TRY_STATUS(sync_if_there(state.vm_dir + kSuccessor));
  {
    std::lock_guard lock(mutex_);
    records_[id] = Record{false, state};
    user.uid = 0;  // the record's
  }
  HARENA_TRY(UniqueFd process, open_process(state.machine));
  return engine.watcher->watch(id, std::move(process));
}

Status MicrovmBackend::adopt(Engine& engine, const std::string& id, const SandboxState& state) {
  if (state.boot.empty()) return make_error(ErrorCode::not_found, "its creation was interrupted");
  HARENA_TRY(const std::string boot, boot_id());
  if (boot != state.boot) return make_error(ErrorCode::not_found, "the machine was restarted");
  auto process = open_process(state.machine);
  if (!process.ok()) return make_error(ErrorCode::not_found, "harena-machine has ended");
  {
    std::lock_guard lock(mutex_);
    if (records_.count(id) != 0) return {};  // known already: recover is idempotent
    records_[id] = Record{false, state};
  }
  // The machine's own process holds its user all the same.
  if (Status held = users_.acquire_exactly(state.uid); !held.ok()) host_.warning("the microVM " + id + ": " + held.error().message);
  return engine.watcher->watch(id, *std::move(process));
}

Result<json> MicrovmBackend::give_up(Engine& engine, const std::string& id, const SandboxState& state, const Error& why) {
  const auto ending = vmm::read_ending(state.vm_dir, why.message);
  {
    std::lock_guard lock(mutex_);
    records_.emplace(id, Record{false, state});
  }
  HARENA_TRY_STATUS(remove(engine, id, 0));
  return json{{"status", "gone"}, {"cause", to_string(ending.cause)}, {"detail", ending.detail}};
}

Result<json> MicrovmBackend::recover(const Call&, std::string_view sandbox_id, std::string_view text) {
  const std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(Engine* engine, this->engine());
  SandboxState state;  // without one its create never ended: whatever there is of it is half-made
  if (const auto record = record_of(id); record && !record->creating) {
    state = record->state;
  } else if (!text.empty()) {
    HARENA_TRY(state, SandboxState::decode(text));
    read_successor(state);
  }
  if (auto adopted = adopt(*engine, id, state); !adopted.ok()) {
    if (revive(*engine, id, state).ok()) return json{{"status", "paused"}, {"session_endpoint", state.endpoint()}};
    return give_up(*engine, id, state, adopted.error());
  }
  // A verb that the dead daemon had asked for is finished first: its outcome is what counts.
  auto status = ask_machine(state.run_dir, {{"verb", "status"}}, kStatusPatienceMs);
  if (!status.ok()) {
    const bool gone = status.error().code == ErrorCode::unavailable || !open_process(state.machine).ok();
    if (gone) return give_up(*engine, id, state, status.error());
    return std::move(status).error().during("asking the machine, which lives, for its state");
  }
  const bool paused = status->value("state", "") == "paused";
  return json{{"status", paused ? "paused" : "running"}, {"session_endpoint", state.endpoint()}};
}

void MicrovmBackend::on_exit(const std::string& id) {
  const auto record = record_of(id);
  if (!record) return;
  auto ready = engine();
  if (ready.ok() && revive(**ready, id, record->state).ok()) {
    host_.warning("the process of the paused microVM " + id + " had ended; another one keeps its memory now");
    return;
  }
  const auto ending = vmm::read_ending(record->state.vm_dir, "harena-machine ended");
  host_.sandbox_exited(id, ending.cause, ending.detail);
}

}  // namespace harena::microvm
