#pragma once
// What this installation is and has: version, backends, plugins, nodes, doctor.

#include "core/api/call.hpp"
#include "core/api/endpoint.hpp"
#include "core/api/services.hpp"

namespace harena {

class InstallationRoutes {
 public:
  explicit InstallationRoutes(ApiServices& services) : services_(services) {}
  void add_to(ApiRouter& router);

 private:
  using Answer = http::Task<Result<Reply>>;
  Answer version(ApiCall& call);
  Answer backends(ApiCall& call);
  Answer plugins(ApiCall& call);
  Answer nodes(ApiCall& call);
  Answer doctor(ApiCall& call);

  ApiServices& services_;
};

nlohmann::json to_json(const BackendListing& listing);

}  // namespace harena
