#include "core/iam/directory.hpp"

#include "core/iam/permission.hpp"

namespace harena {
namespace {

/// Names that this release doesn't know grant nothing: a newer release wrote them.
std::vector<Permission> known_permissions(const std::vector<std::string>& names) {
  std::vector<Permission> permissions;
  for (const auto& name : names) {
    if (const auto permission = permission_from_string(name)) permissions.push_back(*permission);
  }
  return permissions;
}

}  // namespace

Directory::TokenPtr Directory::find_by_hash(const std::string& secret_hash) const {
  const auto it = tokens_by_hash_.find(secret_hash);
  return it == tokens_by_hash_.end() ? nullptr : it->second;
}

Directory::TokenPtr Directory::find_by_id(std::string_view id) const {
  const auto it = tokens_by_id_.find(id);
  return it == tokens_by_id_.end() ? nullptr : it->second;
}

const ProjectRecord* Directory::find_project(const ProjectPath& path) const {
  const auto it = projects_.find(path);
  return it == projects_.end() ? nullptr : &it->second;
}

void Directory::put(TokenRecord record) {
  remove_token(record.id);
  Principal principal{"token:" + record.id, record.name, record.project, known_permissions(record.permissions)};
  auto token = std::make_shared<const KnownToken>(KnownToken{std::move(record), std::move(principal)});
  tokens_by_hash_[token->record.secret_hash] = token;
  tokens_by_id_[token->record.id] = token;
}

void Directory::put(ProjectRecord record) {
  const auto path = record.path;
  projects_.insert_or_assign(path, std::move(record));
}

void Directory::remove_token(const std::string& id) {
  const auto token = find_by_id(id);
  if (!token) return;
  tokens_by_hash_.erase(token->record.secret_hash);
  tokens_by_id_.erase(id);
}

void Directory::remove_project(const ProjectPath& path) { projects_.erase(path); }

}  // namespace harena
