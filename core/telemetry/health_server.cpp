#include "core/telemetry/health_server.hpp"

#include <nlohmann/json.hpp>

namespace harena {
namespace {

using http::Headers;
using http::Request;
using http::ResponseWriter;
using http::Task;

http::Handler serve_metrics(const MetricsRegistry& metrics) {
  return [&metrics](Request&, ResponseWriter& response) -> Task<Status> {
    Headers headers;
    headers.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    const auto text = metrics.render();
    co_return co_await response.send(200, std::move(headers), text);
  };
}

Task<Status> serve_health(Request&, ResponseWriter& response) {
  Headers headers;
  headers.add("Content-Type", "text/plain");
  co_return co_await response.send(200, std::move(headers), "ok\n");
}

http::Handler serve_readiness(const Readiness& readiness) {
  return [&readiness](Request&, ResponseWriter& response) -> Task<Status> {
    const auto failed = readiness.failed();
    nlohmann::json body;
    body["ready"] = failed.empty();
    body["failed"] = failed;
    co_return co_await response.send_json(failed.empty() ? 200 : 503, body);
  };
}

http::Route get(const char* path, http::Handler handler) {
  http::Route route;
  route.method = "GET";
  route.pattern = path;
  route.handler = std::move(handler);
  return route;
}

}  // namespace

Result<std::unique_ptr<HealthServer>> HealthServer::start(http::IoThreads& io, const HealthOptions& options,
                                                          const MetricsRegistry& metrics, const Readiness& readiness) {
  std::unique_ptr<HealthServer> health(new HealthServer());
  HARENA_TRY_STATUS(health->router_.add(get("/metrics", serve_metrics(metrics))));
  HARENA_TRY_STATUS(health->router_.add(get("/healthz", serve_health)));
  HARENA_TRY_STATUS(health->router_.add(get("/readyz", serve_readiness(readiness))));
  http::ServerOptions server;
  server.tcp = {{options.address, options.port, nullptr}};
  server.max_connections = 100;
  HARENA_TRY(health->server_, http::Server::start(io, std::move(server), health->router_.handler()));
  return health;
}

}  // namespace harena
