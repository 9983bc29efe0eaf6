#pragma once
// HealthServer: /metrics, /healthz and /readyz on a port of their own.

#include <cstdint>
#include <memory>
#include <string>

#include "core/telemetry/metrics.hpp"
#include "core/telemetry/readiness.hpp"
#include "sdk/base/result.hpp"
#include "sdk/http/router.hpp"

namespace harena {

struct HealthOptions {
  std::string address = "127.0.0.1";
  /// 0: any free one.
  std::uint16_t port = 9467;
};

/// /metrics: Prometheus' text. /healthz: 200 while the process answers at all. /readyz: 200 if all checks hold, else
/// 503; both with {"ready": bool, "failed": {name: reason}}. Needs no credential and shows no secret.
class HealthServer {
 public:
  /// Borrows everything. Errors: those of http::Server::start().
  static Result<std::unique_ptr<HealthServer>> start(http::IoThreads& io, const HealthOptions& options,
                                                     const MetricsRegistry& metrics, const Readiness& readiness);
  std::uint16_t port() const { return server_->port(); }
  void stop() { server_->stop(std::chrono::milliseconds(1000)); }

 private:
  HealthServer() = default;
  http::Router router_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace harena
