#pragma once
// Metrics of an HTTP server.

#include <functional>
#include <string>

#include "core/telemetry/metrics.hpp"
#include "sdk/http/server.hpp"

namespace harena {

/// For ServerOptions::on_exchange: harena_http_requests_total{server,method,route,status} and
/// harena_http_request_seconds{server,route}. Routes are patterns, never paths; unknown methods count as "other". Borrows the registry.
std::function<void(const http::Exchange&)> exchange_metrics(MetricsRegistry& registry, std::string server);

}  // namespace harena
