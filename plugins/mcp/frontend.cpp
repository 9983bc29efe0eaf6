#include "plugins/mcp/frontend.hpp"

#include <algorithm>
#include <optional>
#include <thread>

#include "plugins/mcp/endpoint.hpp"
#include "sdk/frontend/listener.hpp"
#include "sdk/http/io_threads.hpp"
#include "sdk/http/server.hpp"

namespace harena::mcp {

using plugin::Call;
using plugin::json;

/// What start makes and drain ends, in the order of making.
struct McpFrontend::Running {
  Running(Settings given, Catalog tools) : settings(std::move(given)), catalog(std::move(tools)) {}
  ~Running() {
    if (server) server->stop(std::chrono::milliseconds(0));
    if (io) io->stop();
  }

  Status open(const plugin::Host& host);
  Status listen();

  Settings settings;
  const Catalog catalog;
  SystemRandom random;
  Counters counters;
  CallsUnderWay calls;
  std::unique_ptr<http::IoThreads> io;
  std::shared_ptr<frontend::ApiClient> api;
  std::optional<Sessions> sessions;
  std::optional<Services> services;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<http::Server> server;
};

Status McpFrontend::Running::open(const plugin::Host& host) {
  HARENA_TRY(api, frontend::ApiClient::make(host));
  HARENA_TRY(auto secret, api->host().secret("sessions"));
  sessions.emplace(std::move(secret), random);
  services.emplace(Services{*api, settings, catalog, counters, calls});
  endpoint = std::make_unique<Endpoint>(*services, *sessions);
  io = std::make_unique<http::IoThreads>(std::max(1u, std::thread::hardware_concurrency()));
  return listen();
}

Status McpFrontend::Running::listen() {
  HARENA_TRY(server, frontend::start_server(*io, settings, endpoint->handler()));
  settings.port = server->port();
  return ok_status();
}

Result<std::unique_ptr<McpFrontend>> McpFrontend::make(const Call&, plugin::Host host, const json& config) {
  HARENA_TRY(auto settings, parse_settings(config));
  return std::make_unique<McpFrontend>(host, std::move(settings));
}

McpFrontend::McpFrontend(plugin::Host host, Settings settings) : host_(host), settings_(std::move(settings)) {}
McpFrontend::~McpFrontend() = default;

std::shared_ptr<McpFrontend::Running> McpFrontend::running() const {
  std::lock_guard lock(mutex_);
  return running_;
}

Result<json> McpFrontend::start(const Call&) {
  if (running()) return make_error(ErrorCode::failed_precondition, "it has been started already");
  HARENA_TRY(auto catalog, Catalog::make());
  auto made = std::make_shared<Running>(settings_, std::move(catalog));
  HARENA_TRY_STATUS(made->open(host_));
  const auto url = frontend::url_of(made->settings);
  std::lock_guard lock(mutex_);
  running_ = std::move(made);
  json addresses = json::array({url + "/mcp"});
  return json{{"listen", std::move(addresses)}};
}

Status McpFrontend::drain(const Call& call) {
  const auto ending = running();
  if (!ending) return ok_status();
  ending->server->stop(std::chrono::milliseconds(call.remaining_ms(0)));
  ending->io->stop();
  std::lock_guard lock(mutex_);
  running_.reset();
  return ok_status();
}

Result<json> McpFrontend::metrics(const Call&) {
  const auto now = running();
  return now ? now->counters.metrics() : json{{"metrics", json::array()}};
}

}  // namespace harena::mcp
