#pragma once
// What envd has to know of a sandbox, and where it learns it: the control API made it, and says so in the sandbox itself.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/http/task.hpp"

namespace harena::e2b {

struct SandboxAccess {
  std::string id;
  /// Harena's: "running", "paused", "resuming", ...
  std::string state;
  /// For calls of Harena's API on its behalf. Empty: nobody may.
  std::string credential;
  /// What X-Access-Token has to be; empty: anybody may.
  std::string access_token;
  /// What E2b-Traffic-Access-Token has to be on user ports; empty: they are public.
  std::string traffic_token;
  /// A paused one is resumed by what is asked of it.
  bool auto_resume = false;
  /// The template's user; commands and paths are theirs unless a request names another.
  std::string default_user = "user";
  /// Absolute; empty: the user's home.
  std::string default_folder;
  /// In the environment of every command.
  std::map<std::string, std::string> environment;
  /// What the services see as Host, `${PORT}` replaced; empty: as it came.
  std::string mask_request_host;
};

class Sandboxes {
 public:
  virtual ~Sandboxes() = default;
  /// One sandbox, in any state but stopped and failed. not_found: there is none, or it has ended.
  virtual http::Task<Result<SandboxAccess>> find(std::string id) = 0;
  /// All that are alive, for signed URLs that name none.
  virtual http::Task<Result<std::vector<SandboxAccess>>> all() = 0;
};

}  // namespace harena::e2b
