#include "core/api/snapshot_routes.hpp"

#include "core/api/sandbox_access.hpp"
#include "core/api/sandbox_routes.hpp"
#include "core/model/json_fields.hpp"
#include "sdk/base/text.hpp"

namespace harena {

using http::Task;
using nlohmann::json;

namespace {

Error no_such_snapshot(const std::string& text) { return make_error(ErrorCode::not_found, "there is no snapshot '" + text.substr(0, 80) + "'"); }

Result<SnapshotSpec> parse_snapshot(const json& body) {
  JsonFields fields(body, "the snapshot request");
  SnapshotSpec spec;
  HARENA_TRY(spec.name, fields.string("name", ""));
  HARENA_TRY(spec.idempotency_key, fields.string("idempotency_key", ""));
  HARENA_TRY_STATUS(fields.finish());
  if (!spec.name.empty()) HARENA_TRY_STATUS(check_name(spec.name, "snapshot name"));
  if (spec.idempotency_key.size() <= kMaxIdempotencyKey) return spec;
  return make_error(ErrorCode::invalid_argument, "an idempotency key has at most 128 characters");
}

Result<ProjectPath> project_of(const http::Query& query, const Principal& principal) {
  const auto text = query.get("project");
  return text ? ProjectPath::parse(*text) : Result<ProjectPath>(principal.project);
}

}  // namespace

void SnapshotRoutes::add_to(ApiRouter& router) {
  using R = SnapshotRoutes;
  router.add("POST", "/v1/sandboxes/{id}/snapshots", "create_snapshot", "Take a snapshot", this, &R::create);
  router.add("POST", "/v1/sandboxes/{id}/rollback", "rollback_sandbox", "Back to a snapshot", this, &R::rollback);
  router.add("GET", "/v1/snapshots", "list_snapshots", "List snapshots", this, &R::list);
  router.add("GET", "/v1/snapshots/{snapshot}", "get_snapshot", "One snapshot, by id or name", this, &R::get);
  router.add("DELETE", "/v1/snapshots/{snapshot}", "delete_snapshot", "Delete a snapshot", this, &R::remove);
}

Task<Result<Snapshot>> permitted_snapshot(ApiServices& services, const Principal& principal, Permission permission, std::string text,
                                          ProjectPath project) {
  // A name may look like an id: the id is tried first, as no name is given twice to anybody.
  if (const auto id = SandboxId::parse(text); id.ok() && services.fleet.edge_of(*id).ok()) {
    HARENA_CO_TRY(Edge* const edge, services.fleet.edge_of(*id));
    auto found = co_await edge->get_snapshot(*id);
    if (found.ok()) {
      const bool allowed = services.iam.authorize(principal, permission, found->spec.project).ok();
      co_return allowed ? std::move(found) : Result<Snapshot>(no_such_snapshot(text));
    }
    if (found.error().code != ErrorCode::not_found) co_return std::move(found).error();
  }
  HARENA_CO_TRY_STATUS(services.iam.authorize(principal, permission, project));
  HARENA_CO_TRY(auto found, co_await services.fleet.find_snapshot(project, text));
  if (!found) co_return no_such_snapshot(text + "' in project '" + project.str());
  co_return *std::move(found);
}

SnapshotRoutes::Answer SnapshotRoutes::create(ApiCall& call) {
  HARENA_CO_TRY(const auto sandbox, co_await permitted_sandbox(services_, call, Permission::sandbox_use));
  HARENA_CO_TRY(auto body, co_await call.json_body(services_.config.limits.max_body_bytes));
  HARENA_CO_TRY_STATUS(take_idempotency_key(call, body));
  HARENA_CO_TRY(auto spec, parse_snapshot(body));
  if (!spec.name.empty()) {
    // Names are the project's, whichever edge holds them.
    HARENA_CO_TRY(const auto there, co_await services_.fleet.find_snapshot(sandbox.spec.project, spec.name));
    if (there && there->id.edge_code() != sandbox.id.edge_code()) {
      co_return make_error(ErrorCode::already_exists, "the project '" + sandbox.spec.project.str() + "' has a snapshot '" + spec.name + "' already");
    }
  }
  HARENA_CO_TRY(Edge* const edge, services_.fleet.edge_of(sandbox.id));
  HARENA_CO_TRY(const auto snapshot, co_await edge->snapshot(call.context, sandbox.id, std::move(spec)));
  co_return Reply{201, to_public_json(snapshot)};
}

SnapshotRoutes::Answer SnapshotRoutes::rollback(ApiCall& call) {
  HARENA_CO_TRY(const auto sandbox, co_await permitted_sandbox(services_, call, Permission::sandbox_use));
  HARENA_CO_TRY(const auto body, co_await call.json_body(services_.config.limits.max_body_bytes));
  JsonFields fields(body, "the rollback request");
  HARENA_CO_TRY(const auto text, fields.string("snapshot", ""));
  HARENA_CO_TRY_STATUS(fields.finish());
  if (text.empty()) co_return make_error(ErrorCode::invalid_argument, "the rollback request has no 'snapshot': an id, or a name in the sandbox's project");
  const auto project = sandbox.spec.project;
  HARENA_CO_TRY(const auto snapshot, co_await permitted_snapshot(services_, call.principal, Permission::sandbox_read, text, project));
  if (snapshot.id.edge_code() != sandbox.id.edge_code()) {
    co_return make_error(ErrorCode::failed_precondition, "snapshot '" + text + "' is on another machine than sandbox " + sandbox.id.str());
  }
  HARENA_CO_TRY(Edge* const edge, services_.fleet.edge_of(sandbox.id));
  HARENA_CO_TRY(const auto done, co_await edge->rollback(call.context, sandbox.id, snapshot.id));
  json answer = {{"kept", snapshot.kept}, {"snapshot", to_public_json(snapshot)}, {"sandbox", to_public_json(done)}};
  co_return Reply{200, std::move(answer)};
}

SnapshotRoutes::Answer SnapshotRoutes::list(ApiCall& call) {
  HARENA_CO_TRY(const auto query, call.request.query());
  SnapshotFilter filter;
  HARENA_CO_TRY(filter.project, project_of(query, call.principal));
  HARENA_CO_TRY_STATUS(services_.iam.authorize(call.principal, Permission::sandbox_read, *filter.project));
  filter.name = query.get("name").value_or("");
  if (const auto sandbox = query.get("sandbox")) {
    HARENA_CO_TRY(const auto id, SandboxId::parse(*sandbox));
    filter.sandbox_id = id.str();
  }
  std::string cursor(query.get("cursor").value_or(""));
  if (!cursor.empty()) HARENA_CO_TRY_STATUS(SandboxId::parse(cursor));
  HARENA_CO_TRY(const auto limit, parse_int(query.get("limit").value_or("100"), 1, 1'000, "limit"));
  HARENA_CO_TRY(const auto page, co_await services_.fleet.list_snapshots(std::move(filter), std::move(cursor), limit));
  json snapshots = json::array();
  for (const auto& snapshot : page.snapshots) snapshots.push_back(to_public_json(snapshot));
  json body = {{"snapshots", std::move(snapshots)}, {"next_cursor", page.next_cursor}};
  co_return Reply{200, std::move(body)};
}

/// The one that the path names, in the query's project.
Task<Result<Snapshot>> SnapshotRoutes::named(ApiCall& call, Permission permission) {
  HARENA_CO_TRY(const auto query, call.request.query());
  HARENA_CO_TRY(auto project, project_of(query, call.principal));
  co_return co_await permitted_snapshot(services_, call.principal, permission, call.request.param("snapshot"), std::move(project));
}

SnapshotRoutes::Answer SnapshotRoutes::get(ApiCall& call) {
  HARENA_CO_TRY(const auto snapshot, co_await named(call, Permission::sandbox_read));
  co_return Reply{200, to_public_json(snapshot)};
}

SnapshotRoutes::Answer SnapshotRoutes::remove(ApiCall& call) {
  HARENA_CO_TRY(const auto snapshot, co_await named(call, Permission::sandbox_stop));
  HARENA_CO_TRY(Edge* const edge, services_.fleet.edge_of(snapshot.id));
  HARENA_CO_TRY_STATUS(co_await edge->delete_snapshot(call.context, snapshot.id));
  co_return Reply{200, json::object()};
}

}  // namespace harena
