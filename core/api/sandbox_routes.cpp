#include "core/api/sandbox_routes.hpp"

#include "core/api/batch.hpp"
#include "core/api/image_access.hpp"
#include "core/api/sandbox_access.hpp"
#include "core/api/snapshot_routes.hpp"
#include "core/model/json_fields.hpp"
#include "sdk/base/text.hpp"

namespace harena {

using http::Task;
using nlohmann::json;

namespace {

constexpr std::int64_t kMaxGraceMs = 600'000;

Result<SandboxFilter> parse_states(SandboxFilter filter, std::string_view text) {
  for (const auto& name : split(text, ',')) {
    const auto state = sandbox_state_from_string(name);
    if (!state) {
      return make_error(ErrorCode::invalid_argument,
                        "state '" + name + "' is none of creating running pausing paused resuming stopping stopped failed");
    }
    filter.states.push_back(*state);
  }
  return filter;
}

Result<SandboxFilter> parse_filter(const http::Query& query) {
  SandboxFilter filter;
  if (const auto project = query.get("project")) {
    HARENA_TRY(filter.project, ProjectPath::parse(*project));
  }
  filter.task = query.get("task").value_or("");
  filter.backend = query.get("backend").value_or("");
  for (const auto label : query.get_all("label")) {
    const auto equals = label.find('=');
    if (equals == std::string_view::npos) {
      return make_error(ErrorCode::invalid_argument, "label is '" + std::string(label) + "'; it must be key=value");
    }
    filter.labels[std::string(label.substr(0, equals))] = std::string(label.substr(equals + 1));
  }
  return parse_states(std::move(filter), query.get("state").value_or(""));
}

Result<std::string> parse_cursor(const http::Query& query) {
  const auto cursor = query.get("cursor").value_or("");
  if (cursor.empty()) return std::string();
  HARENA_TRY(const auto id, SandboxId::parse(cursor));
  return id.str();
}

Status parse_lifetime_update(JsonFields& fields, SandboxUpdate& update) {
  HARENA_TRY(const auto lifetime, fields.integer("lifetime_s", 0, 0, kMaxTtlSeconds));
  HARENA_TRY(const auto at_least, fields.integer("lifetime_at_least_s", 1, 1, kMaxTtlSeconds));
  HARENA_TRY(const auto action, fields.string("lifetime_action", "stop"));
  HARENA_TRY(const auto resume_on_use, fields.boolean("resume_on_use", true));
  if (fields.has("lifetime_s")) update.lifetime_s = lifetime;
  if (fields.has("lifetime_at_least_s")) update.lifetime_at_least_s = at_least;
  if (fields.has("resume_on_use")) update.resume_on_use = resume_on_use;
  if (fields.has("lifetime_action")) {
    HARENA_TRY(update.lifetime_action, idle_action_from(action, "lifetime_action"));
  }
  if (!update.lifetime_s || !update.lifetime_at_least_s) return ok_status();
  return make_error(ErrorCode::invalid_argument, "the update has lifetime_s and lifetime_at_least_s; one of them is right");
}

struct ParsedUpdate {
  SandboxUpdate update;
  std::string give_to;  ///< a token; empty: its owner stays
};

Result<ParsedUpdate> parse_update(const json& body) {
  JsonFields fields(body, "the update");
  ParsedUpdate parsed;
  auto& update = parsed.update;
  HARENA_TRY(update.if_labels, fields.string_map("if_labels"));
  HARENA_TRY(parsed.give_to, fields.string("give_to", ""));
  HARENA_TRY(auto labels, fields.string_map("labels"));
  HARENA_TRY(auto annotations, fields.string_map("annotations"));
  HARENA_TRY(const auto idle, fields.integer("idle_ttl_s", 0, 0, kMaxTtlSeconds));
  HARENA_TRY_STATUS(parse_lifetime_update(fields, update));
  HARENA_TRY(auto params, fields.object("params"));
  HARENA_TRY_STATUS(fields.finish());
  HARENA_TRY_STATUS(check_labels(labels));
  HARENA_TRY_STATUS(check_annotations(annotations));
  if (fields.has("labels")) update.labels = std::move(labels);
  if (fields.has("annotations")) update.annotations = std::move(annotations);
  if (fields.has("idle_ttl_s")) update.idle_ttl_s = idle;
  if (fields.has("params")) update.params = std::move(params);
  if (!parsed.give_to.empty() && update.params) {
    return make_error(ErrorCode::invalid_argument, "the update has give_to and params; its parameters are changed before or after that");
  }
  return parsed;
}

/// Who gives a sandbox away could stop it as well; who gets it could have made it.
Result<SandboxOwner> permitted_owner(ApiServices& services, const Principal& giver, const Sandbox& sandbox, const std::string& token) {
  HARENA_TRY_STATUS(services.iam.authorize(giver, Permission::sandbox_stop, sandbox.spec.project));
  auto receiver = services.iam.authenticate(token);
  if (!receiver.ok() || !receiver->frontend.empty()) {
    return make_error(ErrorCode::invalid_argument, "give_to is no valid token; the token of whoever gets the sandbox is right");
  }
  HARENA_TRY_STATUS(services.iam.authorize(*receiver, Permission::sandbox_create, receiver->project));
  HARENA_TRY_STATUS(check_may_use_images(services.iam, *receiver, sandbox.spec));
  return SandboxOwner{receiver->project, receiver->id};
}

}  // namespace

void SandboxRoutes::add_to(ApiRouter& router) {
  using R = SandboxRoutes;
  router.add("POST", "/v1/backends/{backend}/sandboxes", "create_sandbox", "Create a sandbox", this, &R::create);
  router.add("POST", "/v1/backends/{backend}/sandboxes:batch", "create_sandboxes",
             "Create many; results as they are ready", this, &R::create_batch);
  router.add("GET", "/v1/sandboxes", "list_sandboxes", "List sandboxes", this, &R::list);
  router.add("GET", "/v1/sandboxes/{id}", "get_sandbox", "One sandbox", this, &R::get);
  router.add("PATCH", "/v1/sandboxes/{id}", "update_sandbox", "Change labels, times and limits", this, &R::update);
  router.add("POST", "/v1/sandboxes/{id}/pause", "pause_sandbox", "Pause", this, &R::pause);
  router.add("POST", "/v1/sandboxes/{id}/resume", "resume_sandbox", "Resume", this, &R::resume);
  router.add("POST", "/v1/sandboxes/{id}/stop", "stop_sandbox", "Stop", this, &R::stop);
  router.add("DELETE", "/v1/sandboxes/{id}", "delete_sandbox", "Stop", this, &R::stop);
  router.add("POST", "/v1/sandboxes/{id}/fork", "fork_sandbox", "Fork", this, &R::fork);
  router.add("GET", "/v1/sandboxes/{id}/usage", "sandbox_usage", "What it uses", this, &R::usage);
}

Task<Result<Sandbox>> create_sandbox(ApiServices& services, const Principal& principal, CallContext context,
                                     std::string backend, json body) {
  HARENA_CO_TRY(auto spec, parse_create_spec(backend, body));
  HARENA_CO_TRY_STATUS(services.iam.authorize(principal, Permission::sandbox_create, spec.project));
  HARENA_CO_TRY_STATUS(check_may_use_images(services.iam, principal, spec));
  if (!spec.snapshot.empty()) {
    const auto project = spec.project;
    HARENA_CO_TRY(const auto snapshot, co_await permitted_snapshot(services, principal, Permission::sandbox_read, spec.snapshot, project));
    spec.snapshot = snapshot.id.str();
  }
  co_return co_await services.fleet.create(std::move(context), std::move(spec));
}

Status take_idempotency_key(const ApiCall& call, json& body) {
  const auto key = call.request.header("Idempotency-Key");
  if (!key || !body.is_object()) return ok_status();
  if (body.contains("idempotency_key") && body["idempotency_key"] != std::string(*key)) {
    return make_error(ErrorCode::invalid_argument, "the header Idempotency-Key and the body's idempotency_key differ");
  }
  body["idempotency_key"] = std::string(*key);
  return ok_status();
}

SandboxRoutes::Answer SandboxRoutes::create(ApiCall& call) {
  HARENA_CO_TRY(auto body, co_await call.json_body(services_.config.limits.max_body_bytes));
  HARENA_CO_TRY_STATUS(take_idempotency_key(call, body));
  const auto asked_ms = services_.clock.wall_ms();
  HARENA_CO_TRY(const auto sandbox, co_await create_sandbox(services_, call.principal, call.context,
                                                            call.request.param("backend"), std::move(body)));
  co_return Reply{sandbox.created_ms >= asked_ms ? 201 : 200, to_public_json(sandbox)};
}

SandboxRoutes::Answer SandboxRoutes::create_batch(ApiCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.json_body(services_.config.limits.max_body_bytes));
  HARENA_CO_TRY(auto requests, parse_batch(body));
  co_return co_await run_batch(services_, call, std::move(requests));
}

Task<Result<Edge*>> SandboxRoutes::permitted_edge(ApiCall& call, Permission permission) {
  HARENA_CO_TRY(const auto sandbox, co_await permitted_sandbox(services_, call, permission));
  co_return services_.fleet.edge_of(sandbox.id);
}

/// A caller sees what his token may read, his own project if he names none; a frontend that lists, what was made for it.
Status SandboxRoutes::bound_to_caller(SandboxFilter& filter, const Principal& principal) const {
  if (!principal.frontend.empty() && principal.sandbox.empty()) {
    filter.labels[kFrontendLabel] = principal.frontend;
    return ok_status();
  }
  if (!filter.project) filter.project = principal.project;
  return services_.iam.authorize(principal, Permission::sandbox_read, *filter.project);
}

SandboxRoutes::Answer SandboxRoutes::list(ApiCall& call) {
  HARENA_CO_TRY(const auto query, call.request.query());
  HARENA_CO_TRY(auto filter, parse_filter(query));
  HARENA_CO_TRY_STATUS(bound_to_caller(filter, call.principal));
  HARENA_CO_TRY(auto cursor, parse_cursor(query));
  HARENA_CO_TRY(const auto limit, parse_int(query.get("limit").value_or("100"), 1, 1'000, "limit"));
  HARENA_CO_TRY(const auto page, co_await services_.fleet.list(std::move(filter), std::move(cursor), limit));
  json sandboxes = json::array();
  for (const auto& sandbox : page.sandboxes) sandboxes.push_back(to_public_json(sandbox));
  json body = {{"sandboxes", std::move(sandboxes)}, {"next_cursor", page.next_cursor}};
  co_return Reply{200, std::move(body)};
}

SandboxRoutes::Answer SandboxRoutes::get(ApiCall& call) {
  HARENA_CO_TRY(const auto sandbox, co_await permitted_sandbox(services_, call, Permission::sandbox_read));
  co_return Reply{200, to_public_json(sandbox)};
}

SandboxRoutes::Answer SandboxRoutes::update(ApiCall& call) {
  HARENA_CO_TRY(const auto before, co_await permitted_sandbox(services_, call, Permission::sandbox_use));
  HARENA_CO_TRY(Edge* const edge, services_.fleet.edge_of(before.id));
  HARENA_CO_TRY(const auto body, co_await call.json_body(services_.config.limits.max_body_bytes));
  HARENA_CO_TRY(auto parsed, parse_update(body));
  if (!parsed.give_to.empty()) {
    HARENA_CO_TRY(parsed.update.owner, permitted_owner(services_, call.principal, before, parsed.give_to));
  }
  HARENA_CO_TRY(const auto sandbox, co_await edge->update(call.context, before.id, std::move(parsed.update)));
  co_return Reply{200, to_public_json(sandbox)};
}

SandboxRoutes::Answer SandboxRoutes::pause(ApiCall& call) {
  HARENA_CO_TRY(Edge* const edge, co_await permitted_edge(call, Permission::sandbox_use));
  HARENA_CO_TRY(const auto id, call.sandbox_id());
  HARENA_CO_TRY(const auto sandbox, co_await edge->pause(call.context, id));
  co_return Reply{200, to_public_json(sandbox)};
}

SandboxRoutes::Answer SandboxRoutes::resume(ApiCall& call) {
  HARENA_CO_TRY(Edge* const edge, co_await permitted_edge(call, Permission::sandbox_use));
  HARENA_CO_TRY(const auto id, call.sandbox_id());
  HARENA_CO_TRY(const auto sandbox, co_await edge->resume(call.context, id));
  co_return Reply{200, to_public_json(sandbox)};
}

SandboxRoutes::Answer SandboxRoutes::stop(ApiCall& call) {
  HARENA_CO_TRY(Edge* const edge, co_await permitted_edge(call, Permission::sandbox_stop));
  HARENA_CO_TRY(const auto body, co_await call.json_body(services_.config.limits.max_body_bytes));
  JsonFields fields(body, "the stop request");
  HARENA_CO_TRY(const auto grace_ms, fields.integer("grace_ms", 0, 0, kMaxGraceMs));
  HARENA_CO_TRY_STATUS(fields.finish());
  HARENA_CO_TRY(const auto id, call.sandbox_id());
  HARENA_CO_TRY(const auto sandbox, co_await edge->stop(call.context, id, grace_ms));
  co_return Reply{200, to_public_json(sandbox)};
}

SandboxRoutes::Answer SandboxRoutes::usage(ApiCall& call) {
  HARENA_CO_TRY(Edge* const edge, co_await permitted_edge(call, Permission::sandbox_read));
  HARENA_CO_TRY(const auto id, call.sandbox_id());
  HARENA_CO_TRY(auto usage, co_await edge->usage(id));
  co_return Reply{200, std::move(usage)};
}

}  // namespace harena
