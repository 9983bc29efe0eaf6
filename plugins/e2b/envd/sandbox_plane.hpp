#pragma once
// SandboxPlane: everything that is for a sandbox and not for the control API: envd on its port, and the sandbox's own ports.
//
//   SandboxPlane plane(sandboxes, api, random, clock, domain);
//   HARENA_CO_TRY(const bool served, co_await plane.serve(request, response));

#include <functional>
#include <optional>
#include <string>

#include "plugins/e2b/envd/destination.hpp"
#include "plugins/e2b/envd/envd_call.hpp"
#include "plugins/e2b/envd/files/filesystem_service.hpp"
#include "plugins/e2b/envd/process/process_service.hpp"
#include "plugins/e2b/envd/recent_sandboxes.hpp"

namespace harena::e2b {

/// Thread-safe; used until the server that calls it has stopped.
class SandboxPlane {
 public:
  /// Borrows all. `domain`: of `PORT-ID.domain`; empty: any.
  SandboxPlane(Sandboxes& sandboxes, frontend::ApiClient& api, RandomSource& random, const Clock& clock, const std::string& domain)
      : sandboxes_(sandboxes), api_(api), clock_(clock), domain_(domain), recent_(clock), processes_(random),
        filesystem_(random, clock) {}

  /// What only the clients of one sandbox have, and what is said when it fits none.
  struct Secret {
    std::function<bool(const std::string& access_token)> fits;
    std::string refusal;
  };

  /// false, and nothing is answered, when the request is for no sandbox. Errors before an answer has begun are the caller's to send.
  http::Task<Result<bool>> serve(http::Request& request, http::ResponseWriter& response);

 private:
  http::Task<Result<std::optional<Destination>>> owner_of(const Secret& secret);
  http::Task<Status> serve_for(Destination to, http::Request& request, http::ResponseWriter& response);
  http::Task<Status> start_command(SandboxAccess recent, http::Request& request, http::ResponseWriter& response);
  http::Task<Result<bool>> answer_if_gone(std::string id, http::ResponseWriter& response);
  http::Task<Status> serve_envd(http::Request& request, http::ResponseWriter& response, SandboxAccess sandbox);
  http::Task<Status> route(EnvdCall& call);
  http::Task<Status> rest(EnvdCall& call, std::string_view path);
  http::Task<Status> rpc(EnvdCall& call, std::string_view path);
  http::Task<Status> files(EnvdCall& call);
  Status check_file_access(const EnvdCall& call) const;

  Sandboxes& sandboxes_;
  frontend::ApiClient& api_;
  const Clock& clock_;
  const std::string& domain_;
  RecentSandboxes recent_;
  ProcessService processes_;
  FilesystemService filesystem_;
};

}  // namespace harena::e2b
