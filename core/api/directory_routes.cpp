#include "core/api/directory_routes.hpp"

#include "core/iam/permission.hpp"
#include "core/model/json_fields.hpp"
#include "sdk/base/text.hpp"

namespace harena {

using http::blocking;
using http::Task;
using nlohmann::json;

namespace {

constexpr std::int64_t kMaxListed = 1'000;

Result<QuotaLimits> parse_limits(const json& body) {
  JsonFields fields(body, "limits");
  QuotaLimits limits;
  const auto read = [&](const char* key) -> Result<std::optional<std::int64_t>> {
    if (!fields.has(key)) {
      HARENA_TRY_STATUS(fields.integer(key, 0, 0, INT64_MAX));
      return std::optional<std::int64_t>();
    }
    HARENA_TRY(const auto value, fields.integer(key, 0, 0, INT64_MAX));
    return std::optional(value);
  };
  HARENA_TRY(limits.sandboxes, read("sandboxes"));
  HARENA_TRY(limits.cpu_milli, read("cpu_milli"));
  HARENA_TRY(limits.memory_bytes, read("memory_bytes"));
  HARENA_TRY_STATUS(fields.finish());
  return limits;
}

struct Listing {
  ProjectPath project = ProjectPath::root();
  std::string cursor;
  std::int64_t limit = 100;
};

Result<Listing> parse_listing(const ApiCall& call) {
  HARENA_TRY(const auto query, call.request.query());
  Listing listing{.project = call.principal.project, .cursor = std::string(query.get("cursor").value_or(""))};
  if (const auto project = query.get("project")) {
    HARENA_TRY(listing.project, ProjectPath::parse(*project));
  }
  HARENA_TRY(listing.limit, parse_int(query.get("limit").value_or("100"), 1, kMaxListed, "limit"));
  return listing;
}

Result<TokenRequest> parse_token_request(const json& body, std::int64_t now_ms) {
  JsonFields fields(body, "the token request");
  TokenRequest request;
  HARENA_TRY(request.name, fields.string("name", ""));
  HARENA_TRY(const auto project, fields.string("project", std::string(kRootProject)));
  HARENA_TRY(const auto permissions, fields.strings("permissions"));
  HARENA_TRY(const auto expires_s, fields.integer("expires_s", 0, 0, kMaxTtlSeconds));
  HARENA_TRY(const auto form, fields.string("form", "hrn"));
  HARENA_TRY_STATUS(fields.finish());
  HARENA_TRY(request.project, ProjectPath::parse(project));
  HARENA_TRY(request.permissions, parse_permissions(permissions));
  if (form != "hrn" && form != "e2b") {
    return make_error(ErrorCode::invalid_argument, "form is '" + form + "'; it must be hrn or e2b");
  }
  request.e2b_form = form == "e2b";
  request.expires_ms = expires_s ? now_ms + expires_s * 1000 : 0;
  return request;
}

}  // namespace

void DirectoryRoutes::add_to(ApiRouter& router) {
  using R = DirectoryRoutes;
  router.add("GET", "/v1/whoami", "whoami", "The caller", this, &R::whoami);
  router.add("GET", "/v1/projects", "list_projects", "List projects", this, &R::list_projects);
  router.add("POST", "/v1/projects", "create_project", "Create a project", this, &R::create_project);
  router.add("DELETE", "/v1/projects/{*path}", "delete_project", "Delete an empty project", this, &R::remove_project);
  router.add("GET", "/v1/tokens", "list_tokens", "List tokens", this, &R::list_tokens);
  router.add("POST", "/v1/tokens", "create_token", "Create a token; its secret is shown once", this, &R::create_token);
  router.add("DELETE", "/v1/tokens/{id}", "revoke_token", "Revoke a token", this, &R::revoke_token);
}

DirectoryRoutes::Answer DirectoryRoutes::whoami(ApiCall& call) {
  json body = {{"principal", call.principal.id},
               {"name", call.principal.name},
               {"project", call.principal.project.str()},
               {"permissions", permission_names(call.principal.permissions)}};
  co_return Reply{200, std::move(body)};
}

DirectoryRoutes::Answer DirectoryRoutes::list_projects(ApiCall& call) {
  HARENA_CO_TRY(const auto listing, parse_listing(call));
  HARENA_CO_TRY(const auto records,
                services_.iam.list_projects(call.principal, listing.project, listing.cursor, listing.limit));
  json projects = json::array();
  for (const auto& record : records) projects.push_back(to_public_json(record));
  const bool full = static_cast<std::int64_t>(records.size()) == listing.limit;
  json body = {{"projects", std::move(projects)}, {"next_cursor", full ? records.back().path.str() : ""}};
  co_return Reply{200, std::move(body)};
}

DirectoryRoutes::Answer DirectoryRoutes::create_project(ApiCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.json_body(services_.config.limits.max_body_bytes));
  JsonFields fields(body, "the project request");
  HARENA_CO_TRY(const auto text, fields.string("path", ""));
  HARENA_CO_TRY(const auto limits_json, fields.object("limits"));
  HARENA_CO_TRY_STATUS(fields.finish());
  HARENA_CO_TRY(const auto path, ProjectPath::parse(text));
  HARENA_CO_TRY(const auto limits, parse_limits(limits_json));
  HARENA_CO_TRY(const auto record, co_await blocking(services_.workers, [&] {
    return services_.iam.create_project(call.context, call.principal, path, limits);
  }));
  co_return Reply{201, to_public_json(record)};
}

DirectoryRoutes::Answer DirectoryRoutes::remove_project(ApiCall& call) {
  HARENA_CO_TRY(const auto text, percent_decode(call.request.param("path")));
  HARENA_CO_TRY(const auto path, ProjectPath::parse(text));
  HARENA_CO_TRY_STATUS(co_await blocking(services_.workers, [&] {
    return services_.iam.remove_project(call.context, call.principal, path);
  }));
  co_return Reply{200, json::object()};
}

DirectoryRoutes::Answer DirectoryRoutes::list_tokens(ApiCall& call) {
  HARENA_CO_TRY(const auto listing, parse_listing(call));
  HARENA_CO_TRY(const auto records,
                services_.iam.list_tokens(call.principal, listing.project, listing.cursor, listing.limit));
  json tokens = json::array();
  for (const auto& record : records) tokens.push_back(to_public_json(record));
  const bool full = static_cast<std::int64_t>(records.size()) == listing.limit;
  json body = {{"tokens", std::move(tokens)}, {"next_cursor", full ? records.back().id : ""}};
  co_return Reply{200, std::move(body)};
}

DirectoryRoutes::Answer DirectoryRoutes::create_token(ApiCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.json_body(services_.config.limits.max_body_bytes));
  HARENA_CO_TRY(const auto request, parse_token_request(body, services_.clock.wall_ms()));
  HARENA_CO_TRY(const auto minted, co_await blocking(services_.workers, [&] {
    return services_.iam.create_token(call.context, call.principal, request);
  }));
  json reply = to_public_json(minted.record);
  reply["secret"] = minted.secret;
  co_return Reply{201, std::move(reply)};
}

DirectoryRoutes::Answer DirectoryRoutes::revoke_token(ApiCall& call) {
  HARENA_CO_TRY_STATUS(co_await blocking(services_.workers, [&] {
    return services_.iam.revoke_token(call.context, call.principal, call.request.param("id"));
  }));
  co_return Reply{200, json::object()};
}

}  // namespace harena
