// Pause, resume and the two ways to an end: stop (somebody asked) and bury (it ended by itself).
#include "core/lifecycle/manager.hpp"

namespace harena {
namespace {

/// What a transient state found under the verb lock means: an earlier verb failed in the middle and left it so.
bool needs_pause(SandboxState state) { return state == SandboxState::running || state == SandboxState::pausing; }
bool needs_resume(SandboxState state) { return state == SandboxState::paused || state == SandboxState::resuming; }

}  // namespace

Result<Sandbox> SandboxManager::pause(const CallContext& call, const SandboxId& id) {
  HARENA_TRY(const auto live, alive(call, id, Verb::pause));
  std::lock_guard verb(live->verb_mutex);
  HARENA_TRY_STATUS(check_verb(Verb::pause, live->state()));
  if (!needs_pause(live->state())) return live->snapshot();
  HARENA_TRY(const auto entry, backend_of(live->snapshot()));
  HARENA_TRY_STATUS(move(call, *live, SandboxState::pausing));
  if (auto paused = entry.backend->pause(call, id); !paused.ok()) {
    // The backend promises that nothing half-made stays: it runs on.
    HARENA_TRY_STATUS(move(call, *live, SandboxState::running));
    return std::move(paused).error().during("pausing " + id.str());
  }
  HARENA_TRY_STATUS(move(call, *live, SandboxState::paused));
  return live->snapshot();
}

Result<Sandbox> SandboxManager::resume(const CallContext& call, const SandboxId& id) {
  HARENA_TRY(const auto live, alive(call, id, Verb::resume));
  std::lock_guard verb(live->verb_mutex);
  HARENA_TRY_STATUS(check_verb(Verb::resume, live->state()));
  if (!needs_resume(live->state())) return live->snapshot();
  HARENA_TRY(const auto entry, backend_of(live->snapshot()));
  HARENA_TRY_STATUS(move(call, *live, SandboxState::resuming));
  auto resumed = entry.backend->resume(call, id);
  if (!resumed.ok()) {
    HARENA_TRY_STATUS(move(call, *live, SandboxState::paused));
    return std::move(resumed).error().during("resuming " + id.str());
  }
  live->begin_use(parts_.clock.monotonic_ns());
  live->end_use(parts_.clock.monotonic_ns());  // Resuming counts as use: the idle clock starts anew.
  HARENA_TRY_STATUS(move(call, *live, SandboxState::running, [&](Sandbox& next) { next.details["resume"] = *std::move(resumed); }));
  return live->snapshot();
}

Result<Sandbox> SandboxManager::stop(const CallContext& call, const SandboxId& id, std::int64_t grace_ms, Ending why) {
  const auto live = table_.find(id);
  if (!live) return get(call, id);
  live->creation_cancel()->store(true);  // A creation in progress gives up and leaves the record as stopped.
  std::lock_guard verb(live->verb_mutex);
  if (is_terminal(live->state())) return live->snapshot();
  return stop_locked(call, *live, grace_ms, why);
}

Result<Sandbox> SandboxManager::stop_locked(const CallContext& call, LiveSandbox& live, std::int64_t grace_ms,
                                            const Ending& why) {
  const Sandbox sandbox = live.snapshot();
  HARENA_TRY(const auto entry, backend_of(sandbox));
  if (sandbox.state != SandboxState::stopping) {
    HARENA_TRY_STATUS(move(call, live, SandboxState::stopping, [&](Sandbox& next) { next.ending = why; }));
  }
  if (auto stopped = entry.backend->stop(call, sandbox.id, grace_ms); !stopped.ok()) {
    return std::move(stopped).error().during("stopping " + sandbox.id.str());  // It stays `stopping`; tick() repeats.
  }
  return finish(call, live, SandboxState::stopped, live.snapshot().ending);
}

Result<Sandbox> SandboxManager::finish(const CallContext& call, LiveSandbox& live, SandboxState terminal, const Ending& ending) {
  HARENA_TRY_STATUS(move(call, live, terminal, [&](Sandbox& next) { next.ending = ending; }));
  Sandbox ended = live.snapshot();
  live.reservation().release();
  table_.erase(ended.id);
  remains_.add([this, id = ended.id, backend = ended.spec.backend] { remove_remains(id, backend); });
  return ended;
}

void SandboxManager::bury(const LivePtr& live, const Ending& ending) {
  const Sandbox sandbox = live->snapshot();
  if (ending.cause == Cause::limit) {
    if (const auto told = record_event({}, sandbox, "limit_reached", ending.detail); !told.ok()) parts_.notice("warning", told.error().describe());
  }
  if (const auto entry = backend_of(sandbox); entry.ok()) {
    if (const auto stopped = entry->backend->stop({}, sandbox.id, 0); !stopped.ok()) {
      parts_.notice("warning", "removing the rest of " + sandbox.id.str() + ": " + stopped.error().describe());
    }
  }
  const auto terminal = ending.cause == Cause::none ? SandboxState::stopped : SandboxState::failed;
  if (terminal == SandboxState::stopped) {
    if (const auto moved = move({}, *live, SandboxState::stopping); !moved.ok()) {
      parts_.notice("error", moved.error().describe());
      return;
    }
  }
  if (const auto finished = finish({}, *live, terminal, ending); !finished.ok()) {
    parts_.notice("error", "recording the end of " + sandbox.id.str() + ": " + finished.error().describe());
  }
}

}  // namespace harena
