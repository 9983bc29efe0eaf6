#pragma once
// ApiserverRole: the part of harenad that listens. Its start steps are declared here in their order, one file each.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/api/endpoint.hpp"
#include "core/api/services.hpp"
#include "core/pluginhost/host_api.hpp"
#include "core/pluginhost/plugin_host.hpp"
#include "core/steps/steps.hpp"
#include "sdk/http/io_threads.hpp"
#include "sdk/http/server.hpp"

namespace harena {

struct ApiserverParts {
  const Config& config;
  Clock& clock;
  RandomSource& random;
  std::function<void(std::string level, std::string message)> notice;
  /// Called by the first step, when the roles below are up.
  std::function<std::unique_ptr<ApiServices>()> make_services;
  std::function<void(const http::Exchange&)> on_exchange;
  HostApi& host_api;  ///< opened while the API listens
  std::function<std::vector<LoadedFrontend>()> frontends;
};

class ApiRoutes;

class ApiserverRole {
 public:
  explicit ApiserverRole(ApiserverParts parts);
  ~ApiserverRole();

  void add_steps(StepList& steps);
  /// Of the API; valid once listening.
  std::uint16_t port() const { return server_->port(); }
  /// Where each frontend listens, by the plugin's name. Thread-safe.
  std::map<std::string, std::vector<std::string>> frontends() const;
  /// What they count; empty before they are started. Thread-safe.
  std::vector<FrontendSample> frontend_samples() const;

 private:
  Step io_step();      // step_io.cpp: the event loops
  Step routes_step();  // step_routes.cpp: every route, through one gate
  Step listen_step();  // step_listen.cpp: TCP (TLS when configured), and the drain at the end
  Step frontends_step();  // step_frontends.cpp: other protocols in front of it

  HostApiParts host_api_parts();
  void drain_frontends();

  ApiserverParts parts_;
  std::unique_ptr<ApiServices> services_;
  std::unique_ptr<http::Router> router_;
  std::unique_ptr<ApiRouter> gate_;
  std::unique_ptr<ApiRoutes> routes_;
  std::unique_ptr<http::IoThreads> io_;
  std::unique_ptr<http::Server> server_;
  mutable std::mutex listening_mutex_;
  std::vector<Frontend*> started_;
  std::map<std::string, std::vector<std::string>> listening_;
};

}  // namespace harena
