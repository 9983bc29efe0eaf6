// The part of IamService that deals with frontends: other protocols in front of the API, whose traffic may bring no token.

#include "core/crypto/hmac.hpp"
#include "core/iam/frontend_credential.hpp"
#include "core/iam/iam_service.hpp"

namespace harena {
namespace {

constexpr std::string_view kTokenPrincipal = "token:";

/// The words of SandboxRepository for an id that it doesn't have.
Error unknown(const Sandbox& sandbox) {
  return make_error(ErrorCode::not_found, "there is no sandbox '" + sandbox.id.str() + "'");
}

bool is_of(const Sandbox& sandbox, const std::string& frontend) {
  const auto label = sandbox.spec.labels.find(kFrontendLabel);
  return label != sandbox.spec.labels.end() && label->second == frontend;
}

}  // namespace

Result<std::string> IamService::act_for(const std::string& plugin, const std::string& sandbox_id) const {
  return sign(FrontendCredential{sandbox_id, plugin}, process_key_);
}

Result<std::string> IamService::frontend_secret(const std::string& plugin, const std::string& purpose) const {
  return hmac_sha256_hex(frontend_key_, "frontend " + plugin + " " + purpose);
}

Result<Principal> IamService::authenticate_frontend(std::string_view credential) const {
  auto read = verify(credential, process_key_);
  if (!read) return make_error(ErrorCode::unauthenticated, "a frontend's credential is of another process, or forged");
  Principal principal;
  principal.id = "frontend:" + read->plugin;
  principal.name = read->plugin;
  principal.frontend = std::move(read->plugin);
  principal.sandbox = std::move(read->sandbox);
  return principal;
}

Status IamService::authorize_frontend(const Principal& principal, Permission permission, const Sandbox& sandbox) const {
  if (principal.frontend.empty() || principal.sandbox != sandbox.id.str()) return unknown(sandbox);
  if (!is_of(sandbox, principal.frontend)) return unknown(sandbox);
  if (permission != Permission::sandbox_read && permission != Permission::sandbox_use) {
    return make_error(ErrorCode::permission_denied, "'" + principal.id + "' can only read and use a sandbox");
  }
  if (!sandbox.created_by.starts_with(kTokenPrincipal)) return unknown(sandbox);
  const auto directory = picture();
  const auto creator = directory->find_by_id(std::string_view(sandbox.created_by).substr(kTokenPrincipal.size()));
  if (!creator) {
    return make_error(ErrorCode::permission_denied, "the token that created sandbox '" + sandbox.id.str() + "' was revoked");
  }
  const auto expires = creator->record.expires_ms;
  if (expires != 0 && clock_.wall_ms() >= expires) {
    return make_error(ErrorCode::permission_denied, "the token that created sandbox '" + sandbox.id.str() + "' has expired");
  }
  return authorize_in(*directory, creator->principal, permission, sandbox.spec.project);
}

}  // namespace harena
