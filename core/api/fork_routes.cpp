// POST /v1/sandboxes/{id}/fork.
#include "core/api/sandbox_access.hpp"
#include "core/api/sandbox_routes.hpp"
#include "core/model/json_fields.hpp"
#include "sdk/http/error.hpp"

namespace harena {

using nlohmann::json;

namespace {

constexpr std::int64_t kMaxForkCount = 1'000;
/// Each child's key is this one with "-N" behind it.
constexpr std::size_t kMaxForkKey = kMaxIdempotencyKey - 4;

Result<std::optional<IdleAction>> parse_action(JsonFields& fields) {
  HARENA_TRY(const auto text, fields.string("idle_action", ""));
  if (text.empty()) return std::optional<IdleAction>();
  if (text == "stop") return std::optional(IdleAction::stop);
  if (text == "pause") return std::optional(IdleAction::pause);
  return make_error(ErrorCode::invalid_argument, "idle_action is '" + text.substr(0, 80) + "'; it must be stop or pause");
}

Status parse_changes(JsonFields& fields, ForkSpec& spec) {
  HARENA_TRY(auto labels, fields.string_map("labels"));
  HARENA_TRY_STATUS(check_labels(labels));
  if (fields.has("labels")) spec.labels = std::move(labels);
  HARENA_TRY(auto task, fields.string("task", ""));
  if (!task.empty()) HARENA_TRY_STATUS(check_name(task, "task"));
  if (fields.has("task")) spec.task = std::move(task);
  HARENA_TRY(const auto idle, fields.integer("idle_ttl_s", 0, 0, kMaxTtlSeconds));
  if (fields.has("idle_ttl_s")) spec.idle_ttl_s = idle;
  HARENA_TRY(const auto lifetime, fields.integer("lifetime_s", 0, 0, kMaxTtlSeconds));
  if (fields.has("lifetime_s")) spec.lifetime_s = lifetime;
  HARENA_TRY(spec.idle_action, parse_action(fields));
  return ok_status();
}

Result<ForkSpec> parse_fork(const json& body) {
  JsonFields fields(body, "the fork request");
  ForkSpec spec;
  HARENA_TRY(spec.count, fields.integer("count", 1, 1, kMaxForkCount));
  HARENA_TRY(spec.params, fields.object("params"));
  HARENA_TRY(spec.idempotency_key, fields.string("idempotency_key", ""));
  HARENA_TRY_STATUS(parse_changes(fields, spec));
  HARENA_TRY_STATUS(fields.finish());
  if (spec.idempotency_key.size() <= kMaxForkKey) return spec;
  return make_error(ErrorCode::invalid_argument, "the idempotency key of a fork has at most " + std::to_string(kMaxForkKey) + " characters");
}

json fork_json(const ForkOutcome& outcome) {
  json results = json::array();
  for (std::size_t i = 0; i < outcome.children.size(); ++i) {
    json line = {{"index", i}};
    const auto& child = outcome.children[i];
    if (child.ok()) {
      line["sandbox"] = to_public_json(*child);
    } else {
      line.update(http::error_document(child.error()));
    }
    results.push_back(std::move(line));
  }
  return {{"kept", outcome.kept}, {"results", std::move(results)}};
}

}  // namespace

SandboxRoutes::Answer SandboxRoutes::fork(ApiCall& call) {
  HARENA_CO_TRY(const auto sandbox, co_await permitted_sandbox(services_, call, Permission::sandbox_create));
  HARENA_CO_TRY(auto body, co_await call.json_body(services_.config.limits.max_body_bytes));
  HARENA_CO_TRY_STATUS(take_idempotency_key(call, body));
  HARENA_CO_TRY(auto spec, parse_fork(body));
  HARENA_CO_TRY(Edge* const edge, services_.fleet.edge_of(sandbox.id));
  HARENA_CO_TRY(const auto outcome, co_await edge->fork(call.context, sandbox.id, std::move(spec)));
  // One child that fails isn't the others' failure; when none was made, its error is the answer.
  const bool any = std::any_of(outcome.children.begin(), outcome.children.end(), [](const auto& child) { return child.ok(); });
  if (!any) co_return outcome.children.front().error();
  co_return Reply{201, fork_json(outcome)};
}

}  // namespace harena
