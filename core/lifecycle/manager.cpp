#include "core/lifecycle/manager.hpp"

#include <algorithm>
#include <filesystem>

#include "core/lifecycle/creation.hpp"
#include "core/lifecycle/handover.hpp"
#include "core/lifecycle/resizing.hpp"
#include "core/lifecycle/use_guard.hpp"

namespace harena {

SandboxManager::SandboxManager(LifecycleOptions options, LifecycleParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      admission_(options_.admission, options_.host_room) {}

std::string SandboxManager::run_folder(const SandboxId& id) const {
  return options_.run_dir + "/sandboxes/" + id.str();
}

std::string SandboxManager::state_folder(const SandboxId& id) const {
  return options_.state_dir + "/sandboxes/" + id.str();
}

void SandboxManager::remove_folders(const SandboxId& id) const {
  std::error_code ignored;  // What can't be removed now is an orphan that recovery removes.
  std::filesystem::remove_all(run_folder(id), ignored);
  std::filesystem::remove_all(state_folder(id), ignored);
}

void SandboxManager::remove_remains(const SandboxId& id, const std::string& backend) const {
  if (const auto entry = parts_.backends.find(backend); entry.ok()) {
    // The second stop: it returns when the backend needs nothing in the folders any more.
    if (const auto gone = entry->backend->stop({}, id, 0); !gone.ok()) {
      parts_.notice("warning", "removing what is left of " + id.str() + ": " + gone.error().describe());
      return;  // the next start sweeps it
    }
  }
  remove_folders(id);
}

Result<LivePtr> SandboxManager::alive(const CallContext& call, const SandboxId& id, Verb verb) {
  if (auto live = table_.find(id)) return live;
  HARENA_TRY(const auto ended, parts_.repository.get(call, id));
  HARENA_TRY_STATUS(check_verb(verb, ended.state));
  return make_error(ErrorCode::aborted, "sandbox " + id.str() + " is between two states; try again");
}

Result<BackendEntry> SandboxManager::backend_of(const Sandbox& sandbox) const {
  auto entry = parts_.backends.find(sandbox.spec.backend);
  if (entry.ok()) return entry;
  return infrastructure_error(ErrorCode::failed_precondition, "backend",
                              "the backend '" + sandbox.spec.backend + "' of this sandbox isn't enabled on this edge");
}

Status SandboxManager::move(const CallContext& call, LiveSandbox& live, SandboxState state,
                            const std::function<void(Sandbox&)>& change) {
  Sandbox next = live.snapshot();
  if (next.state != state && !can_move(next.state, state)) {
    return make_error(ErrorCode::internal, "no way from " + std::string(to_string(next.state)) + " to " +
                                               std::string(to_string(state)) + " for sandbox " + next.id.str());
  }
  const auto before = next.state;
  next.state = state;
  next.changed_ms = parts_.clock.wall_ms();
  next.expires_ms = end_after(next, before, next.changed_ms);
  if (change) change(next);
  HARENA_TRY_STATUS(parts_.repository.save(call, next));
  live.replace(std::move(next));
  return ok_status();
}

Result<Sandbox> SandboxManager::create(const CallContext& call, const CreateSpec& spec) {
  return Creation(*this, call, spec).run();
}

QuotaAmount SandboxManager::quota_of(const Sandbox& sandbox) {
  const Resources limits = resources_of(sandbox.spec.params);
  return {.sandboxes = 1, .cpu_milli = limits.cpu_milli, .memory_bytes = limits.memory_bytes};
}

Status SandboxManager::record_event(const CallContext& call, const Sandbox& sandbox, const std::string& type, const std::string& detail) {
  if (parts_.events == nullptr) return ok_status();
  return parts_.events->append(call, {.time_ms = parts_.clock.wall_ms(),
                                      .type = type,
                                      .project = sandbox.spec.project,
                                      .sandbox_id = sandbox.id.str(),
                                      .principal = call.principal,
                                      .detail = detail});
}

Status SandboxManager::purge() {
  HARENA_TRY(const auto report, parts_.repository.purge({}, parts_.clock.wall_ms()));
  (void)report;
  return ok_status();
}

std::optional<Sandbox> SandboxManager::find(const SandboxId& id) const {
  const auto live = table_.find(id);
  return live ? std::optional(live->snapshot()) : std::nullopt;
}

Result<Sandbox> SandboxManager::get(const CallContext& call, const SandboxId& id) {
  if (auto living = find(id)) return *std::move(living);
  return parts_.repository.get(call, id);
}

Result<SandboxPage> SandboxManager::list(const CallContext& call, const SandboxFilter& filter,
                                         const std::string& cursor, std::int64_t limit) {
  HARENA_TRY(auto page, parts_.repository.list(call, filter, cursor, limit));
  return SandboxPage{std::move(page.sandboxes), std::move(page.next_cursor)};
}

namespace {

void set_times(Sandbox& sandbox, const SandboxUpdate& update, std::int64_t now_ms) {
  if (update.idle_ttl_s) sandbox.spec.idle_ttl_s = *update.idle_ttl_s;
  if (update.lifetime_action) sandbox.spec.lifetime_action = *update.lifetime_action;
  if (sandbox.spec.lifetime_action == IdleAction::pause) sandbox.spec.lifetime_restarts = true;
  if (update.lifetime_s) {
    sandbox.spec.lifetime_s = *update.lifetime_s;
    sandbox.expires_ms = fresh_end(sandbox, now_ms);
  }
  if (!update.lifetime_at_least_s) return;
  Sandbox extended = sandbox;
  extended.spec.lifetime_s = *update.lifetime_at_least_s;
  const auto end = fresh_end(extended, now_ms);  // 0: paused, and it begins with the resume
  const bool has_none = sandbox.spec.lifetime_s == 0;
  if (has_none || (end != 0 && end <= sandbox.expires_ms)) return;
  sandbox.spec.lifetime_s = extended.spec.lifetime_s;
  sandbox.expires_ms = end;
}

}  // namespace

Result<Sandbox> SandboxManager::update(const CallContext& call, const SandboxId& id, const SandboxUpdate& update) {
  HARENA_TRY(const auto live, alive(call, id, Verb::use));
  std::lock_guard verb(live->verb_mutex);
  const auto state = live->state();
  if (is_terminal(state)) HARENA_TRY_STATUS(check_verb(Verb::use, state));
  HARENA_TRY_STATUS(check_labels_are(live->snapshot(), update.if_labels));
  if (update.lifetime_action) {
    HARENA_TRY(const auto entry, backend_of(live->snapshot()));
    HARENA_TRY_STATUS(check_can_pause(entry, *update.lifetime_action, "lifetime_action"));
  }
  const auto change = [&](Sandbox& sandbox) {
    if (update.labels) sandbox.spec.labels = *update.labels;
    if (update.annotations) sandbox.spec.annotations = *update.annotations;
    if (update.resume_on_use) sandbox.spec.resume_on_use = *update.resume_on_use;
    set_times(sandbox, update, parts_.clock.wall_ms());
  };
  if (update.owner) {
    HARENA_TRY_STATUS(hand_over(call, *live, *update.owner, change));
  } else if (update.params) {
    HARENA_TRY_STATUS(Resizing(*this, call, *live).run(*update.params, change));
  } else {
    HARENA_TRY_STATUS(move(call, *live, state, change));
  }
  return live->snapshot();
}

Status SandboxManager::hand_over(const CallContext& call, LiveSandbox& live, const SandboxOwner& owner,
                                 const std::function<void(Sandbox&)>& also) {
  const Sandbox before = live.snapshot();
  HARENA_TRY_STATUS(check_can_be_given(before));
  HARENA_TRY_STATUS(parts_.quotas.move(live.reservation(), owner.project));
  Status given = move(call, live, before.state, [&](Sandbox& sandbox) {
    sandbox.spec.project = owner.project;
    sandbox.created_by = owner.principal;
    also(sandbox);
  });
  // The old project had room for it a moment ago; if it is full by now, the next start counts it there all the same.
  if (!given.ok()) live.reservation() = parts_.quotas.adopt(before.spec.project, quota_of(before));
  return given;
}

Result<nlohmann::json> SandboxManager::usage(const CallContext& call, const SandboxId& id) {
  HARENA_TRY(const auto live, alive(call, id, Verb::use));
  HARENA_TRY(const auto entry, backend_of(live->snapshot()));
  return entry.backend->usage(call, id);
}

bool SandboxManager::cancelling(const SandboxId& id) const {
  const auto live = table_.find(id);
  return live && live->creation_cancel()->load();
}

bool SandboxManager::has_living_in(const ProjectPath& project) const {
  const auto all = table_.all();
  return std::any_of(all.begin(), all.end(),
                     [&](const LivePtr& live) { return project.contains(live->snapshot().spec.project); });
}

std::unique_ptr<SandboxUse> SandboxManager::fast_use(const SandboxId& id) {
  const auto live = table_.find(id);
  if (!live) return nullptr;
  auto guard = std::make_unique<UseGuard>(live, parts_.clock);
  return guard->sandbox().state == SandboxState::running ? std::move(guard) : nullptr;
}

Result<std::unique_ptr<SandboxUse>> SandboxManager::use(const CallContext& call, const SandboxId& id) {
  if (auto fast = fast_use(id)) return fast;
  HARENA_TRY(const auto sandbox, get(call, id));
  HARENA_TRY_STATUS(check_verb(Verb::use, sandbox.state));
  if (!sandbox.spec.resume_on_use) {
    return make_error(ErrorCode::failed_precondition, "sandbox " + id.str() + " is " + std::string(to_string(sandbox.state)) +
                                                          " and isn't resumed by use; resume it first");
  }
  HARENA_TRY_STATUS(resume(call, id));
  if (auto fast = fast_use(id)) return fast;
  return make_error(ErrorCode::aborted, "sandbox " + id.str() + " changed its state while it was resumed; try again");
}

void SandboxManager::on_exit(const SandboxId& id, Ending ending) {
  const auto live = table_.find(id);
  if (!live) return;
  std::lock_guard verb(live->verb_mutex);
  if (!is_terminal(live->state()) && live->state() != SandboxState::stopping) bury(live, ending);
}

}  // namespace harena
