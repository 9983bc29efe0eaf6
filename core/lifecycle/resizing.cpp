#include "core/lifecycle/resizing.hpp"

#include <algorithm>

namespace harena {

using nlohmann::json;

namespace {

Status check_can(const Sandbox& sandbox, const BackendDescription& backend) {
  if (!backend.verbs.contains("resize")) {
    return make_error(ErrorCode::unimplemented, "the backend '" + backend.name + "' can't change the parameters of a living sandbox");
  }
  if (sandbox.state == SandboxState::running || sandbox.state == SandboxState::paused) return ok_status();
  return make_error(ErrorCode::failed_precondition, "sandbox " + sandbox.id.str() + " is " + std::string(to_string(sandbox.state)) +
                                                        "; its parameters change while it is running or paused");
}

/// Both at once: while it is being changed a sandbox may have the one or the other.
QuotaAmount larger(const QuotaAmount& a, const QuotaAmount& b) {
  return {.sandboxes = 1, .cpu_milli = std::max(a.cpu_milli, b.cpu_milli), .memory_bytes = std::max(a.memory_bytes, b.memory_bytes)};
}

Sandbox with_params(Sandbox sandbox, json params, const Resources& promised) {
  sandbox.spec.params = std::move(params);
  sandbox.promised = promised;
  return sandbox;
}

/// A null takes a parameter away, so that its default holds.
json changed_params(const json& params, const json& change) {
  json changed = json::object();
  const json merged = merge_params(params, change);
  for (const auto& [name, value] : merged.items()) {
    if (!value.is_null()) changed[name] = value;
  }
  return changed;
}

void take(Sandbox& sandbox, BackendCreated changed) {
  sandbox.details = std::move(changed.details);
  if (!changed.state.empty()) sandbox.backend_state = std::move(changed.state);
}

}  // namespace

Status Resizing::reserve(const Sandbox& next) {
  const Sandbox now = live_.snapshot();
  auto& quotas = manager_.parts_.quotas;
  HARENA_TRY_STATUS(quotas.resize(live_.reservation(), larger(SandboxManager::quota_of(now), SandboxManager::quota_of(next))));
  Status admitted = manager_.table_.change_promise(manager_.admission_, now.promised, next.promised);
  if (!admitted.ok()) (void)quotas.resize(live_.reservation(), SandboxManager::quota_of(now));  // less always fits
  if (!admitted.ok()) admitted.error().retry = Retry::same_node;  // it lives here and nowhere else
  return admitted;
}

void Resizing::give_back(const Sandbox& next) {
  const Sandbox now = live_.snapshot();
  manager_.table_.restore_promise(next.promised, now.promised);
  (void)manager_.parts_.quotas.resize(live_.reservation(), SandboxManager::quota_of(now));
}

Result<BackendCreated> Resizing::apply(Backend& backend, const json& from, const json& to) {
  const Sandbox now = live_.snapshot();
  return backend.resize(call_, now.id, {.before = from, .params = to, .details = now.details});
}

Status Resizing::commit(const Sandbox& next, const std::function<void(Sandbox&)>& also) {
  return manager_.move(call_, live_, live_.state(), [&](Sandbox& sandbox) {
    sandbox.spec.params = next.spec.params;
    sandbox.promised = next.promised;
    sandbox.details = next.details;
    sandbox.backend_state = next.backend_state;
    sandbox.resizing.reset();
    if (also) also(sandbox);
  });
}

Status Resizing::run(const json& change, const std::function<void(Sandbox&)>& also) {
  HARENA_TRY_STATUS(settle());
  const Sandbox now = live_.snapshot();
  HARENA_TRY(const auto entry, manager_.backend_of(now));
  HARENA_TRY_STATUS(check_can(now, entry.backend->describe()));
  HARENA_TRY(auto params, entry.check_params(changed_params(now.spec.params, change)));
  Sandbox next = with_params(now, std::move(params), resources_after(now.promised, change));
  HARENA_TRY_STATUS(reserve(next));
  const PendingResize pending{next.spec.params, next.promised};
  Status claimed = manager_.move(call_, live_, now.state, [&](Sandbox& sandbox) { sandbox.resizing = pending; });
  auto changed = claimed.ok() ? apply(*entry.backend, now.spec.params, next.spec.params) : Result<BackendCreated>(std::move(claimed).error());
  if (!changed.ok()) {
    give_back(next);
    if (live_.snapshot().resizing) HARENA_TRY_STATUS(commit(now, {}));
    return std::move(changed).error().during("resizing " + now.id.str());
  }
  take(next, *std::move(changed));
  if (Status committed = commit(next, also); !committed.ok()) {
    give_back(next);  // The record says where it leads: settle() comes to it.
    return committed;
  }
  return manager_.parts_.quotas.resize(live_.reservation(), SandboxManager::quota_of(next));
}

Status Resizing::settle() {
  const Sandbox now = live_.snapshot();
  if (!now.resizing) return ok_status();
  HARENA_TRY(const auto entry, manager_.backend_of(now));
  Sandbox next = with_params(now, now.resizing->params, now.resizing->promised);
  auto changed = apply(*entry.backend, now.spec.params, next.spec.params);
  if (!changed.ok()) {
    manager_.parts_.notice("warning", "an interrupted resize is taken back: " + changed.error().describe());
    next = now;
    changed = apply(*entry.backend, now.resizing->params, now.spec.params);
  }
  if (!changed.ok()) return std::move(changed).error().during("an interrupted resize of " + now.id.str());
  take(next, *std::move(changed));
  HARENA_TRY_STATUS(commit(next, {}));
  manager_.table_.restore_promise(now.promised, next.promised);
  live_.reservation() = manager_.parts_.quotas.adopt(next.spec.project, SandboxManager::quota_of(next));
  return ok_status();
}

}  // namespace harena
