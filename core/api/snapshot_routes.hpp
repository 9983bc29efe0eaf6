#pragma once
// Snapshots over HTTP: taken of a sandbox, listed, deleted, and a sandbox brought back to one (docs/http-api.md).

#include "core/api/call.hpp"
#include "core/api/endpoint.hpp"
#include "core/api/services.hpp"

namespace harena {

class SnapshotRoutes {
 public:
  explicit SnapshotRoutes(ApiServices& services) : services_(services) {}
  void add_to(ApiRouter& router);

 private:
  using Answer = http::Task<Result<Reply>>;
  Answer create(ApiCall& call);
  Answer rollback(ApiCall& call);
  Answer list(ApiCall& call);
  Answer get(ApiCall& call);
  Answer remove(ApiCall& call);
  http::Task<Result<Snapshot>> named(ApiCall& call, Permission permission);

  ApiServices& services_;
};

/// The snapshot that `text` names, if the principal has `permission` on its project: an id, or a name in `project`. For others not_found, as
/// for what isn't there.
http::Task<Result<Snapshot>> permitted_snapshot(ApiServices& services, const Principal& principal, Permission permission,
                                                std::string text, ProjectPath project);

}  // namespace harena
