// stop and sweep: everything of a sandbox is found from its id alone, whatever died in between. A stop answers when the processes are
// dead; groups and files go afterwards, and a second stop waits for that.

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "plugins/container/backend.hpp"
#include "plugins/container/backend_errors.hpp"
#include "plugins/container/sandbox_folders.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

constexpr std::int64_t kMs = 1'000'000;
/// How long what is being removed may take to die.
constexpr std::int64_t kRemovePatienceNs = 20'000 * kMs;
/// How long a shim may take to tell its clients how their commands ended, before it is killed.
constexpr std::int64_t kShimPatienceNs = 2'000 * kMs;
constexpr std::int64_t kMostGraceMs = 600'000;

/// Asks everything but the init to end, and waits for as much of it as the grace allows.
void ask_to_end(const CgroupGroup& group, pid_t init, std::int64_t grace_ms) {
  auto pids = group.processes();
  if (!pids.ok()) return;
  std::vector<UniqueFd> asked;
  for (pid_t pid : *pids) {
    if (pid == init) continue;
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (fd && signal_process(fd.get(), SIGTERM).ok()) asked.push_back(std::move(fd));
  }
  const std::int64_t deadline = monotonic_now_ns() + grace_ms * kMs;
  for (const auto& fd : asked) {
    if (!wait_process_end(fd.get(), deadline)) return;
  }
}

/// A shim ends by itself after its init. One that has none yet, or that nobody here knows, is asked to.
Status end_shim(const CgroupTree& cgroups, const std::string& id, const ProcessRef& known, std::int64_t deadline_ns) {
  const std::int64_t patience = std::min(deadline_ns, monotonic_now_ns() + kShimPatienceNs);
  if (auto shim = open_process(known); shim.ok()) {
    wait_process_end(shim->get(), patience);
  } else if (auto group = cgroups.open_platform(id); group.ok()) {
    auto pids = group->processes();
    for (pid_t pid : pids.ok() ? *pids : std::vector<pid_t>{}) ::kill(pid, SIGTERM);
    if (pids.ok() && !pids->empty()) (void)group->wait_empty(patience);
  }
  auto group = cgroups.open_platform(id);
  return group.ok() ? group->kill_all(deadline_ns) : Status();
}

}  // namespace

/// What a stop waits for: no process of it is left, and its clients have been told how their commands ended.
Status ContainerBackend::end(Engine& engine, const std::string& id, const SandboxState& state, std::int64_t grace_ms) {
  engine.watcher->forget(id);
  fault_point("remove.begun");
  if (auto group = engine.cgroups.open_sandbox(id); group.ok() && grace_ms > 0) {
    HARENA_TRY_STATUS(write_file_at(group->fd(), "cgroup.freeze", "0"));
    ask_to_end(*group, state.init.pid, grace_ms);
  }
  const std::int64_t deadline = monotonic_now_ns() + kRemovePatienceNs;
  // The init first: it takes the others along, so that the shim, who looks at it, can tell their clients why they ended.
  if (auto init = open_process(state.init); init.ok()) HARENA_TRY_STATUS(signal_process(init->get(), SIGKILL));
  HARENA_TRY_STATUS(engine.cgroups.kill_sandbox(id, deadline));
  // A builder that was killed before its init had joined a group can't have left one: init is born in its group.
  return end_shim(engine.cgroups, id, state.shim, deadline);
}

/// What is left then.
Status ContainerBackend::clear(Engine& engine, const std::string& id) {
  const auto record = record_of(id);
  const SandboxState state = record ? record->state : SandboxState();
  const std::int64_t deadline = monotonic_now_ns() + kRemovePatienceNs;
  // What a blank that became this one hasn't taken from its stage, if nobody else has removed it.
  if (const std::string stage = engine.cgroups.note_of(id); !stage.empty()) (void)remove_stage(stage);
  HARENA_TRY_STATUS(engine.cgroups.remove_sandbox(id, deadline));
  fault_point("remove.groups");
  engine.disks->release({state.state_dir, state.first_id});
  HARENA_TRY_STATUS(forget_layers(id, state));
  HARENA_TRY_STATUS(remove_upper(state));
  HARENA_TRY_STATUS(engine.cgroups.remove_platform(id, deadline));
  fault_point("remove.platform");
  if (!record) return {};
  HARENA_TRY_STATUS(remove_session(state));
  fault_point("remove.files");
  if (!state.layers.empty()) engine.launcher->release_layers(state.layers);
  if (record->first_id != 0) ids_.release(record->first_id);
  places_.forget(id);
  std::lock_guard lock(mutex_);
  records_.erase(id);
  return {};
}

Status ContainerBackend::remove(Engine& engine, const std::string& id, std::int64_t grace_ms) {
  const auto record = record_of(id);
  // For the rest of a stop, or for an old work folder: who removes the same folders beside it gets in its way.
  if (record && !record->creating) engine.remains->wait_idle();
  HARENA_TRY_STATUS(end(engine, id, record ? record->state : SandboxState(), grace_ms));
  return clear(engine, id);
}

bool ContainerBackend::mark_ended(const std::string& id) {
  places_.forget(id);  // nothing of it runs any more
  std::lock_guard lock(mutex_);
  const auto found = records_.find(id);
  if (found == records_.end()) return false;
  found->second.ended = true;
  return true;
}

Status ContainerBackend::stop_recorded(Engine& engine, const std::string& id, std::int64_t grace_ms) {
  const auto record = record_of(id);
  // Half-made, unknown, or ended by an earlier stop, whose rest this one waits for.
  if (!record || record->creating || record->ended) return remove(engine, id, grace_ms);
  HARENA_TRY_STATUS(end(engine, id, record->state, grace_ms));
  if (!mark_ended(id)) return {};
  engine.remains->add([this, &engine, id] {
    // One that can't be cleared keeps its record: the next stop or sweep of it tries again and tells why.
    if (auto cleared = clear(engine, id); !cleared.ok()) host_.warning("what is left of sandbox " + id + ": " + cleared.error().describe());
  });
  return {};
}

Status ContainerBackend::stop(const Call&, std::string_view sandbox_id, std::int64_t grace_ms) {
  HARENA_TRY_STATUS(check_id(sandbox_id));
  HARENA_TRY(Engine* engine, this->engine());
  if (!record_of(std::string(sandbox_id))) HARENA_TRY_STATUS(forget_user(std::string(sandbox_id)));
  auto stopped = stop_recorded(*engine, std::string(sandbox_id), std::clamp<std::int64_t>(grace_ms, 0, kMostGraceMs));
  if (!stopped.ok()) return infrastructure(std::move(stopped).error(), "container");
  return {};
}

/// Of an earlier life: its processes have ended with their daemon.
Status ContainerBackend::remove_old_blank(Engine& engine, const std::string& name) {
  if (engine.pool->owns(name)) return {};
  return remove_blank(engine.cgroups, name, monotonic_now_ns() + kRemovePatienceNs);
}

Result<json> ContainerBackend::sweep(const Call&, const std::vector<std::string>& known_ids) {
  HARENA_TRY(Engine* engine, this->engine());
  HARENA_TRY(auto found, engine->cgroups.sandboxes());
  HARENA_TRY(auto platforms, engine->cgroups.platforms());
  found.merge(platforms);
  found.erase("launcher");
  for (const auto& id : known_ids) found.erase(id);
  json removed = json::array();
  for (const auto& id : found) {
    if (is_blank_name(id)) {
      HARENA_TRY_STATUS(remove_old_blank(*engine, id));
      continue;
    }
    if (!check_id(id).ok()) continue;  // not a name that we give
    if (auto record = record_of(id); record && record->creating) continue;
    HARENA_TRY_STATUS(remove(*engine, id, 0));
    removed.push_back(id);
  }
  HARENA_TRY_STATUS(collect_layers(known_ids));
  // Launchers of an earlier life end by themselves when their daemon does; one that hangs is ended here.
  if (auto group = engine->cgroups.open_platform("launcher"); group.ok()) {
    HARENA_TRY(auto pids, group->processes());
    for (pid_t pid : pids) {
      if (pid != engine->launcher->pid()) ::kill(pid, SIGKILL);
    }
  }
  return json{{"removed", removed}};
}

}  // namespace harena::container
