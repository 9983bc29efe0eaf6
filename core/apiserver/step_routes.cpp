#include "core/api/routes.hpp"
#include "core/apiserver/apiserver_role.hpp"

namespace harena {

Step ApiserverRole::routes_step() {
  return {"routes",
          [this]() -> Status {
            services_ = parts_.make_services();
            router_ = std::make_unique<http::Router>();
            gate_ = std::make_unique<ApiRouter>(*router_, services_->iam, parts_.random);
            routes_ = std::make_unique<ApiRoutes>(*services_, *router_);
            routes_->add_to(*gate_);
            return gate_->status();
          },
          [this] {
            // The services stay: imports and creates under way on worker threads use them until the edge has waited for
            // its workers.
            routes_.reset();
            gate_.reset();
            router_.reset();
          }};
}

}  // namespace harena
