#pragma once
// Who calls, and what they may: the interface between the API and core/iam.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/project.hpp"
#include "sdk/base/result.hpp"

namespace harena {

/// The rights that exist. A token holds a set of them for a project and everything below it.
enum class Permission {
  sandbox_create, sandbox_read, sandbox_use, sandbox_stop,
  image_read, image_write,
  project_read, project_write,
  token_write,
  node_read, admin,
};
std::string_view to_string(Permission permission);

struct Principal {
  std::string id;       ///< "token:" + the token's public id, "frontend:" + a plugin's id, or "system"
  std::string name;     ///< for people
  ProjectPath project = ProjectPath::root();
  std::vector<Permission> permissions;
  /// Of a frontend that acts for a sandbox of its own (IamService::act_for), which has no permissions: its plugin's id ...
  std::string frontend = {};
  /// ... and the sandbox; empty: for none, it can list.
  std::string sandbox = {};
};

/// Thread-safe, never blocks for I/O: called for every request from event loops.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  /// `credential` is the token as sent. unauthenticated says what is wrong without repeating it.
  virtual Result<Principal> authenticate(std::string_view credential) = 0;
  /// permission_denied names the permission and the project. Unknown projects are not_found for those who may read
  /// their parent, else permission_denied.
  virtual Status authorize(const Principal& principal, Permission permission, const ProjectPath& project) = 0;
};

}  // namespace harena
