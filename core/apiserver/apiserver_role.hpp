#pragma once
// ApiserverRole: the part of harenad that listens. Its start steps are declared here in their order, one file each.

#include <memory>

#include "core/api/endpoint.hpp"
#include "core/api/services.hpp"
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
};

class ApiRoutes;

class ApiserverRole {
 public:
  explicit ApiserverRole(ApiserverParts parts);
  ~ApiserverRole();

  void add_steps(StepList& steps);
  /// Of the API; valid once listening.
  std::uint16_t port() const { return server_->port(); }

 private:
  Step io_step();      // step_io.cpp: the event loops
  Step routes_step();  // step_routes.cpp: every route, through one gate
  Step listen_step();  // step_listen.cpp: TCP (TLS when configured), and the drain at the end

  ApiserverParts parts_;
  std::unique_ptr<ApiServices> services_;
  std::unique_ptr<http::Router> router_;
  std::unique_ptr<ApiRouter> gate_;
  std::unique_ptr<ApiRoutes> routes_;
  std::unique_ptr<http::IoThreads> io_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace harena
