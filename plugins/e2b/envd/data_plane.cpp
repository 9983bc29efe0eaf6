#include "plugins/e2b/envd/data_plane.hpp"

#include "plugins/e2b/control/sandbox_store.hpp"

namespace harena::e2b {

using http::Task;

namespace {

Result<SandboxAccess> access_of(const Record& record, Services& services) {
  SandboxAccess access;
  access.id = record.id;
  access.state = record.state;
  HARENA_TRY(access.credential, services.keys.act_for(record.id));
  access.access_token = services.keys.envd_token(record.id);
  if (!record.extras.public_traffic) access.traffic_token = services.keys.traffic_token(record.id);
  access.auto_resume = record.resumes_on_use;
  if (!record.extras.user.empty()) access.default_user = record.extras.user;
  access.default_folder = record.extras.workdir;
  access.environment = record.env;
  access.environment["E2B_SANDBOX_ID"] = record.id;  // known only once there is one
  access.mask_request_host = record.extras.mask_request_host;
  return access;
}

}  // namespace

Task<Result<SandboxAccess>> CoreSandboxes::find(std::string id) {
  auto credential = services_.keys.act_for(id);
  if (!credential) co_return std::move(credential).error();
  SandboxStore store(services_, std::move(*credential));
  HARENA_CO_TRY(const auto record, co_await store.living(std::move(id)));
  co_return access_of(record, services_);
}

Task<Result<std::vector<SandboxAccess>>> CoreSandboxes::all() {
  HARENA_CO_TRY(auto credential, services_.keys.act_for(""));
  SandboxStore store(services_, std::move(credential));
  HARENA_CO_TRY(const auto records, co_await store.all_living());
  std::vector<SandboxAccess> found;
  for (const auto& record : records) {
    HARENA_CO_TRY(auto access, access_of(record, services_));
    found.push_back(std::move(access));
  }
  co_return found;
}

DataPlane::DataPlane(Services& services)
    : sandboxes_(services), plane_(sandboxes_, services.api, random_, services.clock, services.settings.domain) {}

}  // namespace harena::e2b
