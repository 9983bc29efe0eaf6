#include "core/telemetry/exchange_metrics.hpp"

#include <algorithm>
#include <array>

namespace harena {
namespace {

std::string_view known_method(std::string_view method) {
  constexpr std::array<std::string_view, 7> kKnown = {"GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"};
  return std::find(kKnown.begin(), kKnown.end(), method) != kKnown.end() ? method : "other";
}

}  // namespace

std::function<void(const http::Exchange&)> exchange_metrics(MetricsRegistry& registry, std::string server) {
  auto& requests = registry.counter("harena_http_requests_total", "Requests answered; status 0: the client left before an answer.",
                                    {"server", "method", "route", "status"});
  auto& seconds = registry.histogram("harena_http_request_seconds", "From the end of a request's header to the end of its answer.",
                                     {"server", "route"});
  return [&requests, &seconds, server = std::move(server)](const http::Exchange& exchange) {
    const auto& pattern = exchange.request.route();
    const std::string_view route = pattern.empty() ? std::string_view("none") : std::string_view(pattern);
    const auto status = std::to_string(exchange.status);
    requests.with({server, known_method(exchange.request.method()), route, status}).add();
    seconds.with({server, route}).observe(std::chrono::duration<double>(exchange.duration).count());
  };
}

}  // namespace harena
