#pragma once
// Sandboxes over HTTP: create, batch, list, get, update, pause, resume, stop, fork, usage (docs/http-api.md).

#include "core/api/call.hpp"
#include "core/api/endpoint.hpp"
#include "core/api/services.hpp"

namespace harena {

class SandboxRoutes {
 public:
  explicit SandboxRoutes(ApiServices& services) : services_(services) {}
  void add_to(ApiRouter& router);

 private:
  using Answer = http::Task<Result<Reply>>;
  Answer create(ApiCall& call);
  Answer create_batch(ApiCall& call);
  Answer list(ApiCall& call);
  Answer get(ApiCall& call);
  Answer update(ApiCall& call);
  Answer pause(ApiCall& call);
  Answer resume(ApiCall& call);
  Answer stop(ApiCall& call);
  Answer fork(ApiCall& call);
  Answer usage(ApiCall& call);

  Status bound_to_caller(SandboxFilter& filter, const Principal& principal) const;
  http::Task<Result<Edge*>> permitted_edge(ApiCall& call, Permission permission);

  ApiServices& services_;
};

/// The header Idempotency-Key as the body's member; invalid_argument when both are there and differ.
Status take_idempotency_key(const ApiCall& call, nlohmann::json& body);

/// Authorises, applies the header Idempotency-Key and asks the fleet. Used by single and batched creates.
http::Task<Result<Sandbox>> create_sandbox(ApiServices& services, const Principal& principal, CallContext context,
                                           std::string backend, nlohmann::json body);

}  // namespace harena
