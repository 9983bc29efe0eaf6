#include "core/api/sandbox_access.hpp"

namespace harena {

http::Task<Result<Sandbox>> permitted_sandbox(ApiServices& services, const ApiCall& call, Permission permission) {
  HARENA_CO_TRY(const auto id, call.sandbox_id());
  HARENA_CO_TRY(Edge* const edge, services.fleet.edge_of(id));
  HARENA_CO_TRY(auto sandbox, co_await edge->get(id));
  if (!call.principal.frontend.empty()) {
    HARENA_CO_TRY_STATUS(services.iam.authorize_frontend(call.principal, permission, sandbox));
    co_return sandbox;
  }
  const auto& project = sandbox.spec.project;
  const auto allowed = services.iam.authorize(call.principal, permission, project);
  if (allowed.ok()) co_return sandbox;
  if (services.iam.authorize(call.principal, Permission::sandbox_read, project).ok()) co_return allowed.error();
  // The words of SandboxRepository for an id that it doesn't have.
  co_return make_error(ErrorCode::not_found, "there is no sandbox '" + id.str() + "'");
}

}  // namespace harena
