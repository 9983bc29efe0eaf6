#include "core/lifecycle/forking.hpp"

namespace harena {

Result<ForkOutcome> SandboxManager::fork(const CallContext& call, const SandboxId& id, const ForkSpec& spec) {
  HARENA_TRY(const auto live, alive(call, id, Verb::fork));
  std::lock_guard verb(live->verb_mutex);
  HARENA_TRY_STATUS(check_verb(Verb::fork, live->state()));
  // Forking is use: the source's idle clock starts anew.
  live->begin_use(parts_.clock.monotonic_ns());
  auto outcome = Forking(*this, call, live->snapshot(), spec).run();
  live->end_use(parts_.clock.monotonic_ns());
  return outcome;
}

Status Forking::check() {
  HARENA_TRY(backend_, manager_.backend_of(source_));
  const auto& description = backend_.backend->describe();
  if (!description.verbs.contains("fork")) return absent_verb(description, "fork");
  return ok_status();
}

CreateSpec Forking::child_spec(std::int64_t index) const {
  CreateSpec spec = source_.spec;
  spec.forked_from = source_.id.str();
  spec.fork_count = spec_.count;
  spec.params = merge_params(std::move(spec.params), spec_.params);
  if (spec_.labels) spec.labels = *spec_.labels;
  if (spec_.task) spec.task = *spec_.task;
  if (spec_.idle_ttl_s) spec.idle_ttl_s = *spec_.idle_ttl_s;
  if (spec_.lifetime_s) spec.lifetime_s = *spec_.lifetime_s;
  if (spec_.idle_action) spec.idle_action = *spec_.idle_action;
  spec.idempotency_key = spec_.idempotency_key.empty() ? "" : spec_.idempotency_key + "-" + std::to_string(index);
  return spec;
}

Result<ImageStack> Forking::image_of_source() {
  ImageStack image{{}, source_.image_config};
  HARENA_TRY(image.layers, manager_.parts_.images.layers(call_, source_.layer_digests));
  return image;
}

void Forking::begin(Child& child) {
  auto& creation = child.creation;
  if (auto checked = creation.check(); !checked.ok()) {
    child.outcome = std::move(checked).error();
    return;
  }
  auto existing = creation.claim();
  if (!existing.ok() || *existing) {
    child.outcome = existing.ok() ? Result<Sandbox>(*std::move(*existing)) : Result<Sandbox>(std::move(existing).error());
    return;
  }
  child.verb = std::unique_lock(creation.live_->verb_mutex);
  if (auto made = creation.make_folders(); !made.ok()) child.outcome = creation.undo(std::move(made).error());
}

void Forking::end(Child& child, Result<BackendCreated> made) {
  auto& creation = child.creation;
  Status done = made.ok() ? ok_status() : Status(std::move(made).error());
  if (done.ok() && creation.live_->creation_cancel()->load()) {
    done = make_error(ErrorCode::cancelled, "sandbox " + creation.id_->str() + " was stopped while it was being created");
  }
  if (done.ok()) {
    creation.created_ = *std::move(made);
    done = creation.publish();
  }
  if (!done.ok()) {
    child.outcome = creation.undo(std::move(done).error());
    return;
  }
  creation.live_->finish_creation(std::nullopt);
  child.outcome = creation.live_->snapshot();
}

void Forking::make_children() {
  std::vector<Child*> asked;
  std::vector<BackendCreateRequest> requests;
  for (auto& child : children_) {
    if (child.outcome) continue;
    asked.push_back(&child);
    requests.push_back(child.creation.backend_request());
  }
  if (asked.empty()) return;
  auto made = backend_.backend->fork(call_, source_.id, requests);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    end(*asked[i], made.ok() ? std::move((*made)[i]) : Result<BackendCreated>(made.error()));
  }
}

Result<ForkOutcome> Forking::run() {
  HARENA_TRY_STATUS(check());
  HARENA_TRY(const auto image, image_of_source());
  for (std::int64_t i = 0; i < spec_.count; ++i) {
    auto& child = children_.emplace_back(Child{Creation(manager_, call_, child_spec(i)), {}, std::nullopt});
    child.creation.inherit(image, source_.promised);
    begin(child);
    // The key came with another fork: nothing of this one is made.
    const bool taken = i == 0 && !spec_.idempotency_key.empty() && child.outcome && !child.outcome->ok();
    if (taken && child.outcome->error().code == ErrorCode::already_exists) return child.outcome->error();
  }
  make_children();
  ForkOutcome outcome{backend_.backend->describe().kept.value("fork", ""), {}};
  for (auto& child : children_) outcome.children.push_back(*std::move(child.outcome));
  return outcome;
}

}  // namespace harena
