#pragma once
// Directory: an immutable picture of all projects and tokens, so that a request is authenticated without I/O and
// without waiting for a change.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/contracts/identity.hpp"
#include "core/store/project_repository.hpp"
#include "core/store/token_repository.hpp"

namespace harena {

struct KnownToken {
  TokenRecord record;
  Principal principal;
};

/// Changed by copy: whoever holds a pointer keeps its picture. The parts are shared between copies.
class Directory {
 public:
  using TokenPtr = std::shared_ptr<const KnownToken>;

  /// Null when unknown. The lookup is by hash: its time tells at most something about hashes of what the caller
  /// sent, and from those nobody can step towards a secret.
  TokenPtr find_by_hash(const std::string& secret_hash) const;
  TokenPtr find_by_id(std::string_view id) const;
  const ProjectRecord* find_project(const ProjectPath& path) const;
  const std::map<std::string, TokenPtr, std::less<>>& tokens_by_id() const { return tokens_by_id_; }
  const std::map<ProjectPath, ProjectRecord>& projects() const { return projects_; }

  void put(TokenRecord record);
  void put(ProjectRecord record);
  void remove_token(const std::string& id);
  void remove_project(const ProjectPath& path);

 private:
  std::unordered_map<std::string, TokenPtr> tokens_by_hash_;
  std::map<std::string, TokenPtr, std::less<>> tokens_by_id_;
  std::map<ProjectPath, ProjectRecord> projects_;
};

}  // namespace harena
