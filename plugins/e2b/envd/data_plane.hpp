#pragma once
// The data plane: what is meant for a sandbox and not for the control API: envd and the sandbox's ports. Joins the room envd/ to the
// plugin's services.

#include "plugins/e2b/envd/sandbox_plane.hpp"
#include "plugins/e2b/services.hpp"
#include "sdk/base/random.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/response_writer.hpp"

namespace harena::e2b {

/// Sandboxes of this frontend, asked of the core with a credential for the one sandbox.
class CoreSandboxes final : public Sandboxes {
 public:
  explicit CoreSandboxes(Services& services) : services_(services) {}
  http::Task<Result<SandboxAccess>> find(std::string id) override;
  http::Task<Result<std::vector<SandboxAccess>>> all() override;

 private:
  Services& services_;
};

/// Thread-safe; borrows the services.
class DataPlane {
 public:
  explicit DataPlane(Services& services);
  /// Answers a request that is for a sandbox (by its host name, its headers or its signature); false, and nothing is answered,
  /// when it is for none.
  http::Task<Result<bool>> serve(http::Request& request, http::ResponseWriter& response) { return plane_.serve(request, response); }

 private:
  CoreSandboxes sandboxes_;
  SystemRandom random_;
  SandboxPlane plane_;
};

}  // namespace harena::e2b
