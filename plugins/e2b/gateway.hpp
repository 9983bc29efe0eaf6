#pragma once
// Gateway: one origin for both planes. A request for a sandbox goes to the data plane, every other one to the control API.

#include "plugins/e2b/control/control.hpp"
#include "plugins/e2b/envd/data_plane.hpp"
#include "plugins/e2b/services.hpp"
#include "sdk/http/server.hpp"

namespace harena::e2b {

/// Thread-safe.
class Gateway {
 public:
  explicit Gateway(Services& services) : data_plane_(services), control_(services) {}
  const Status& status() const { return control_.status(); }
  /// For Server::start(); borrows the gateway.
  http::Handler handler();

 private:
  http::Task<Status> serve(http::Request& request, http::ResponseWriter& response);

  DataPlane data_plane_;
  Control control_;
};

}  // namespace harena::e2b
