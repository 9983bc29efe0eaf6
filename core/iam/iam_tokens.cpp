// The part of IamService that deals with tokens.

#include <algorithm>

#include "core/crypto/token_hash.hpp"
#include "core/iam/iam_service.hpp"
#include "core/iam/listing.hpp"
#include "core/iam/permission.hpp"
#include "sdk/base/text.hpp"

namespace harena {

nlohmann::json to_public_json(const TokenRecord& record) {
  auto value = to_json(record);
  value.erase("schema");
  value.erase("secret_hash");
  return value;
}

namespace {

/// When the principal itself ends; 0: never. A token that was revoked while its call waited makes no other.
Result<std::int64_t> expiry_of(const Directory& directory, const Principal& principal) {
  constexpr std::string_view kPrefix = "token:";
  if (!principal.id.starts_with(kPrefix)) return std::int64_t{0};
  const auto token = directory.find_by_id(std::string_view(principal.id).substr(kPrefix.size()));
  if (token) return token->record.expires_ms;
  return make_error(ErrorCode::unauthenticated, "the token '" + principal.id + "' was revoked");
}

Status check_token_name(const std::string& name) {
  if (name.size() <= kMaxTokenName && is_utf8(name)) return ok_status();
  return make_error(ErrorCode::invalid_argument, "a token's name is UTF-8 of at most 128 bytes; this one has " +
                                                     std::to_string(name.size()));
}

}  // namespace

Status IamService::check_delegation(const Principal& principal, const TokenRequest& request) const {
  if (request.permissions.empty()) {
    return make_error(ErrorCode::invalid_argument, "a token needs at least one permission");
  }
  const auto missing = first_missing(principal.permissions, request.permissions);
  if (!missing) return check_token_name(request.name);
  return make_error(ErrorCode::permission_denied, "'" + principal.id + "' can't grant " +
                                                      std::string(to_string(*missing)) +
                                                      ": it doesn't have that permission itself");
}

/// A token doesn't outlive the one that made it.
Result<std::int64_t> IamService::bounded_expiry(const Principal& principal, std::int64_t wanted_ms) const {
  if (wanted_ms < 0 || (wanted_ms != 0 && wanted_ms <= clock_.wall_ms())) {
    return make_error(ErrorCode::invalid_argument,
                      "expires_ms is " + std::to_string(wanted_ms) + "; it must be 0 or after now, which is " +
                          std::to_string(clock_.wall_ms()));
  }
  HARENA_TRY(const auto bound, expiry_of(*picture(), principal));
  if (wanted_ms == 0 || bound == 0) return wanted_ms == 0 ? bound : wanted_ms;
  if (wanted_ms <= bound) return wanted_ms;
  return make_error(ErrorCode::invalid_argument, "expires_ms is " + std::to_string(wanted_ms) + "; '" + principal.id +
                                                     "' itself expires at " + std::to_string(bound));
}

Result<MintedToken> IamService::create_token(const CallContext& call, const Principal& principal,
                                             const TokenRequest& request) {
  std::lock_guard lock(write_mutex_);
  HARENA_TRY_STATUS(authorize(principal, Permission::token_write, request.project));
  HARENA_TRY_STATUS(check_delegation(principal, request));
  HARENA_TRY(const auto expires_ms, bounded_expiry(principal, request.expires_ms));
  MintedToken minted;
  minted.secret = mint_token(random_, request.e2b_form ? kE2bTokenPrefix : kTokenPrefix);
  minted.record = {random_.base36(kTokenIdLength), token_hash(minted.secret), request.name, request.project,
                   permission_names(request.permissions), principal.id, clock_.wall_ms(), expires_ms};
  HARENA_TRY_STATUS(tokens_.create(call, minted.record));
  publish([&](Directory& directory) { directory.put(minted.record); });
  return minted;
}

Status IamService::revoke_token(const CallContext& call, const Principal& principal, const std::string& id) {
  std::lock_guard lock(write_mutex_);
  const auto token = picture()->find_by_id(id);
  if (!token || !authorize(principal, Permission::token_write, token->record.project)) {
    return make_error(ErrorCode::not_found, "there is no token '" + id.substr(0, 64) + "'");
  }
  HARENA_TRY_STATUS(tokens_.remove(call, token->record.secret_hash));
  publish([&](Directory& directory) { directory.remove_token(id); });
  return ok_status();
}

Status IamService::remove_tokens_of(const CallContext& call, const ProjectPath& path) {
  std::vector<TokenRecord> of_project;
  for (const auto& [id, token] : picture()->tokens_by_id()) {
    if (token->record.project == path) of_project.push_back(token->record);
  }
  for (const auto& record : of_project) {
    HARENA_TRY_STATUS(tokens_.remove(call, record.secret_hash));
    publish([&](Directory& directory) { directory.remove_token(record.id); });
  }
  return ok_status();
}

Result<std::vector<TokenRecord>> IamService::list_tokens(const Principal& principal, const ProjectPath& project,
                                                         const std::string& cursor, std::int64_t limit) const {
  HARENA_TRY_STATUS(check_list_limit(limit));
  const auto directory = picture();
  HARENA_TRY_STATUS(authorize_in(*directory, principal, Permission::token_write, project));
  std::vector<TokenRecord> found;
  const auto& tokens = directory->tokens_by_id();
  for (auto it = tokens.upper_bound(cursor); it != tokens.end() && std::ssize(found) < limit; ++it) {
    if (project.contains(it->second->record.project)) found.push_back(it->second->record);
  }
  return found;
}

}  // namespace harena
