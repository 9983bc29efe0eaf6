#include "core/iam/iam_service.hpp"

#include <algorithm>

#include "core/crypto/token_hash.hpp"
#include "core/iam/frontend_credential.hpp"
#include "core/iam/permission.hpp"
#include "core/store/meta_repository.hpp"

namespace harena {

Principal system_principal() { return {"system", "system", ProjectPath::root(), {Permission::admin}}; }

IamService::IamService(StateStore& store, Clock& clock, RandomSource& random)
    : store_(store), clock_(clock), random_(random), projects_(store), tokens_(store), process_key_(random.hex(32)) {}

Result<BootstrapOutcome> IamService::start(const CallContext& call, const std::filesystem::path& admin_token_file) {
  std::lock_guard lock(write_mutex_);
  auto outcome = bootstrap_admin(call, store_, clock_, random_, admin_token_file);
  if (!outcome) return std::move(outcome).error().during("preparing project root and its admin token");
  HARENA_TRY(frontend_key_, MetaRepository(store_).frontend_key(call, random_));
  HARENA_TRY(auto projects, projects_.load_all(call));
  HARENA_TRY(auto tokens, tokens_.load_all(call));
  publish([&](Directory& directory) {
    for (auto& project : projects) {
      quotas_.set_limits(project.path, project.limits);
      directory.put(std::move(project));
    }
    for (auto& token : tokens) directory.put(std::move(token));
  });
  return outcome;
}

IamService::DirectoryPtr IamService::picture() const {
  std::shared_lock lock(picture_mutex_);
  return picture_;
}

void IamService::publish(const std::function<void(Directory&)>& change) {
  auto next = std::make_shared<Directory>(*picture());
  change(*next);
  DirectoryPtr old = std::move(next);
  {
    std::unique_lock lock(picture_mutex_);
    picture_.swap(old);
  }
  // The old picture, if nobody holds it, is destroyed here and not under the lock.
}

Result<Principal> IamService::authenticate(std::string_view credential) {
  if (credential.empty()) {
    return make_error(ErrorCode::unauthenticated, "there is no token; send 'Authorization: Bearer hrn_...'");
  }
  if (is_frontend_credential(credential)) return authenticate_frontend(credential);
  if (!is_token(credential)) {
    return make_error(ErrorCode::unauthenticated,
                      "the token is malformed; it has hrn_ (or e2b_) and 64 hexadecimal digits");
  }
  const auto token = picture()->find_by_hash(token_hash(credential));
  if (!token) return make_error(ErrorCode::unauthenticated, "the token is unknown or was revoked");
  const std::int64_t expires = token->record.expires_ms;
  if (expires != 0 && clock_.wall_ms() >= expires) {
    return make_error(ErrorCode::unauthenticated, "the token '" + token->record.id + "' expired at " +
                                                      std::to_string(expires) + " (milliseconds since 1970)");
  }
  return token->principal;
}

Status IamService::authorize(const Principal& principal, Permission permission, const ProjectPath& project) {
  return authorize_in(*picture(), principal, permission, project);
}

namespace {

bool may(const Principal& principal, Permission permission, const ProjectPath& project) {
  return principal.project.contains(project) && grants(principal.permissions, permission);
}

Error denied(const Principal& principal, Permission permission, const ProjectPath& project) {
  return make_error(ErrorCode::permission_denied, "'" + principal.id + "' has no permission " +
                                                      std::string(to_string(permission)) + " on project '" +
                                                      project.str() + "'");
}

}  // namespace

Status IamService::authorize_in(const Directory& directory, const Principal& principal, Permission permission,
                                const ProjectPath& project) const {
  const bool exists = directory.find_project(project) != nullptr;
  if (!exists && may(principal, Permission::project_read, project.parent())) {
    return make_error(ErrorCode::not_found, "there is no project '" + project.str() + "'");
  }
  if (exists && may(principal, permission, project)) return ok_status();
  return denied(principal, permission, project);
}

}  // namespace harena
