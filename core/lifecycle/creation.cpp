#include "core/lifecycle/creation.hpp"

#include "core/lifecycle/private_folder.hpp"

namespace harena {
namespace {

/// What a snapshot hands down: not what the backend's schema says is of one create alone.
nlohmann::json handed_down(const nlohmann::json& params, const nlohmann::json& schema) {
  const auto properties = schema.value("properties", nlohmann::json::object());
  auto kept = nlohmann::json::object();
  for (const auto& [name, value] : params.items()) {
    const bool once = properties.contains(name) && properties[name].is_object() && properties[name].value("x-once", false);
    if (!once) kept[name] = value;
  }
  return kept;
}

}  // namespace

Creation::Creation(SandboxManager& manager, const CallContext& call, const CreateSpec& spec)
    : manager_(manager), call_(call), spec_(spec) {}

Result<Sandbox> Creation::run() {
  HARENA_TRY_STATUS(check());
  HARENA_TRY(const auto existing, claim());
  if (existing) return *existing;
  std::lock_guard verb(live_->verb_mutex);
  Status built = build();
  if (built.ok()) built = publish();
  if (!built.ok()) return undo(std::move(built).error());
  live_->finish_creation(std::nullopt);
  return live_->snapshot();
}

void Creation::inherit(ImageStack image, const Resources& promised) {
  image_ = std::move(image);
  promised_ = promised;
  inherited_ = true;
}

Status Creation::inherit_snapshot() {
  HARENA_TRY(const auto id, SandboxId::parse(spec_.snapshot));
  HARENA_TRY(snapshot_, manager_.ready_snapshot(call_, id));
  const auto& before = snapshot_->spec;
  if (before.backend != spec_.backend) {
    return make_error(ErrorCode::invalid_argument, "snapshot '" + snapshot_->name + "' is of the backend '" + before.backend +
                                                       "'; a sandbox of '" + spec_.backend + "' can't be made of it");
  }
  const Resources asked = resources_of(spec_.params);
  Resources promised = snapshot_->promised;
  if (asked.cpu_milli != 0) promised.cpu_milli = asked.cpu_milli;
  if (asked.memory_bytes != 0) promised.memory_bytes = asked.memory_bytes;
  ImageStack image{{}, snapshot_->image_config};
  HARENA_TRY(image.layers, manager_.parts_.images.layers(call_, snapshot_->layer_digests));
  spec_.params = merge_params(handed_down(before.params, backend_.backend->describe().params_schema), spec_.params);
  if (spec_.annotations.empty()) spec_.annotations = before.annotations;  // as a fork has its source's
  inherit(std::move(image), promised);
  return ok_status();
}

Status Creation::check() {
  HARENA_TRY(backend_, manager_.parts_.backends.find(spec_.backend));
  const auto& description = backend_.backend->describe();
  HARENA_TRY_STATUS(check_can_pause(backend_, spec_.idle_action, "idle_action"));
  HARENA_TRY_STATUS(check_can_pause(backend_, spec_.lifetime_action, "lifetime_action"));
  if (!inherited_ && !spec_.snapshot.empty()) HARENA_TRY_STATUS(inherit_snapshot());
  if (inherited_) {
    // Nothing to say about images: it has its source's.
    HARENA_TRY(spec_.params, backend_.check_params(spec_.params));
    return ok_status();
  }
  if (description.needs_image && spec_.image.empty()) {
    return make_error(ErrorCode::invalid_argument,
                      "the backend '" + spec_.backend + "' needs an image, such as root/base:v1");
  }
  if (!description.needs_image && !spec_.image.empty()) {
    return make_error(ErrorCode::invalid_argument,
                      "the backend '" + spec_.backend + "' takes no image; this names '" + spec_.image + "'");
  }
  promised_ = resources_of(spec_.params);  // Before the defaults are filled in.
  HARENA_TRY(spec_.params, backend_.check_params(spec_.params));
  return ok_status();
}

Sandbox Creation::new_record() const {
  const std::int64_t now = manager_.parts_.clock.wall_ms();
  Sandbox record{.id = *id_, .spec = spec_};
  record.created_by = call_.principal;
  record.promised = promised_;
  record.created_ms = now;
  record.changed_ms = now;
  record.expires_ms = fresh_end(record, now);
  for (const auto& layer : image_.layers) record.layer_digests.push_back(layer.digest);
  record.image_config = image_.config;
  return record;
}

Result<std::optional<Sandbox>> Creation::claim() {
  auto& parts = manager_.parts_;
  const auto key = idempotency_of(spec_);
  if (key) {
    // Asked first: a repeated create is answered even when the machine is full or the image has gone since.
    HARENA_TRY(auto earlier, parts.repository.find_idempotent(call_, *key));
    if (earlier) return await(*std::move(earlier));
  }
  if (!spec_.image.empty() && !inherited_) {
    HARENA_TRY(image_, parts.images.resolve(call_, spec_.image, spec_.workspaces, spec_.toolkits));
  }
  id_ = SandboxId::generate(manager_.options_.edge_code, parts.random);
  live_ = std::make_shared<LiveSandbox>(new_record(), parts.clock.monotonic_ns());
  HARENA_TRY(live_->reservation(), parts.quotas.reserve(spec_.project, SandboxManager::quota_of(live_->snapshot())));
  // In the table before it is in the store: whoever finds the claim finds the one to wait for.
  HARENA_TRY_STATUS(manager_.table_.admit(manager_.admission_, *id_, live_));
  auto claimed = parts.repository.create(call_, live_->snapshot(), key);
  if (claimed.ok() && claimed->created) return std::optional<Sandbox>();
  manager_.table_.erase(*id_);
  if (!claimed.ok()) {
    live_->finish_creation(claimed.error());
    return std::move(claimed).error();
  }
  live_->finish_creation(make_error(ErrorCode::aborted, "another create under the same key was faster"));
  return await(std::move(claimed->sandbox));
}

Result<std::optional<Sandbox>> Creation::await(Sandbox earlier) {
  const auto live = manager_.table_.find(earlier.id);
  if (!live) return std::optional(std::move(earlier));
  if (auto error = live->wait_created()) return *std::move(error);
  return std::optional(live->snapshot());
}

BackendCreateRequest Creation::backend_request() const {
  return {.sandbox_id = *id_,
          .run_dir = manager_.run_folder(*id_),
          .state_dir = manager_.state_folder(*id_),
          .params = spec_.params,
          .layers = image_.layers,
          .image_config = image_.config,
          .labels = spec_.labels};
}

Status Creation::make_folders() {
  HARENA_TRY_STATUS(make_private_folder(manager_.run_folder(*id_)));
  return make_private_folder(manager_.state_folder(*id_));
}

Status Creation::build() {
  HARENA_TRY_STATUS(make_folders());
  CallContext call = call_;
  call.cancel = live_->creation_cancel();
  if (snapshot_) {
    HARENA_TRY(created_, backend_.backend->restore(call, backend_request(), snapshot_->backend_state));
  } else {
    HARENA_TRY(created_, backend_.backend->create(call, backend_request()));
  }
  if (!live_->creation_cancel()->load()) return tell_weakening();
  return make_error(ErrorCode::cancelled, "sandbox " + id_->str() + " was stopped while it was being created");
}

Status Creation::tell_weakening() {
  for (const auto& use : created_.details.value("weakened", nlohmann::json::array())) {
    if (!use.is_string()) continue;
    HARENA_TRY_STATUS(manager_.record_event(call_, live_->snapshot(), "sandbox_weakened", use.get<std::string>()));
  }
  return ok_status();
}

Status Creation::publish() {
  HARENA_TRY_STATUS(manager_.move(call_, *live_, SandboxState::running, [&](Sandbox& sandbox) {
    sandbox.backend_state = created_.state;
    sandbox.session_endpoint = created_.session_endpoint;
    sandbox.details = created_.details;
    // Where commands begin that name no folder.
    if (const auto workdir = image_.config.value("workdir", ""); !workdir.empty()) sandbox.details["workdir"] = workdir;
  }));
  return ok_status();
}

Error Creation::undo(Error error) {
  auto& parts = manager_.parts_;
  const bool stopped_by_caller = live_->creation_cancel()->load();
  auto stopped = backend_.backend->stop({}, *id_, 0);
  if (stopped.ok()) stopped = backend_.backend->stop({}, *id_, 0);  // returns when the folders may go
  manager_.remove_folders(*id_);
  Status forgotten = stopped.ok() ? ok_status() : Status(stopped.error());
  if (stopped.ok() && stopped_by_caller) {
    forgotten = manager_.move(call_, *live_, SandboxState::stopping);
    if (forgotten.ok()) forgotten = manager_.move(call_, *live_, SandboxState::stopped);
  } else if (stopped.ok()) {
    forgotten = parts.repository.abandon({}, live_->snapshot());
  }
  if (forgotten.ok()) {
    manager_.table_.erase(*id_);
  } else {
    // The record stays `creating`; the next start undoes it. Meanwhile nobody can use it.
    parts.notice("error", "undoing the create of " + id_->str() + ": " + forgotten.error().describe());
  }
  live_->finish_creation(error);
  return error;
}

}  // namespace harena
