#include "plugins/e2b/frontend.hpp"

#include <algorithm>
#include <optional>
#include <thread>

#include "plugins/e2b/gateway.hpp"
#include "plugins/e2b/warm/warm_pools.hpp"
#include "sdk/frontend/listener.hpp"
#include "sdk/http/io_threads.hpp"
#include "sdk/http/server.hpp"

namespace harena::e2b {

using plugin::Call;
using plugin::json;

namespace {

/// A pool that is in the middle of making a sandbox has so long to finish; what it leaves behind ends by itself.
constexpr std::chrono::milliseconds kWarmStop{500};

}  // namespace

/// What start makes and drain ends, in the order of making.
struct E2bFrontend::Running {
  explicit Running(Settings given) : settings(std::move(given)) {}
  ~Running() {
    if (warm) warm->stop(std::chrono::milliseconds(0));
    if (server) server->stop(std::chrono::milliseconds(0));
    if (io) io->stop();
  }

  Status open(const plugin::Host& host);
  Status listen();

  Settings settings;
  SystemClock clock;
  Counters counters;
  std::unique_ptr<http::IoThreads> io;
  std::shared_ptr<frontend::ApiClient> api;
  std::optional<Keys> keys;
  std::optional<Services> services;
  std::unique_ptr<WarmPools> warm;
  std::unique_ptr<Gateway> gateway;
  std::unique_ptr<http::Server> server;
};

Status E2bFrontend::Running::open(const plugin::Host& host) {
  HARENA_TRY(api, frontend::ApiClient::make(host));
  HARENA_TRY(auto made, Keys::make(api->host()));
  keys.emplace(std::move(made));
  services.emplace(Services{*api, settings, *keys, counters, clock});
  warm = std::make_unique<WarmPools>(*services, [host](const std::string& text) { host.warning(text); });
  services->warm = warm.get();
  gateway = std::make_unique<Gateway>(*services);
  HARENA_TRY_STATUS(gateway->status());
  io = std::make_unique<http::IoThreads>(std::max(1u, std::thread::hardware_concurrency()));
  HARENA_TRY_STATUS(listen());
  warm->start(*io);
  return ok_status();
}

Status E2bFrontend::Running::listen() {
  HARENA_TRY(server, frontend::start_server(*io, settings, gateway->handler()));
  settings.port = server->port();
  if (settings.domain.empty()) settings.domain = "localhost:" + std::to_string(settings.port);
  return ok_status();
}

Result<std::unique_ptr<E2bFrontend>> E2bFrontend::make(const Call&, plugin::Host host, const json& config) {
  HARENA_TRY(auto settings, parse_settings(config));
  return std::make_unique<E2bFrontend>(host, std::move(settings));
}

E2bFrontend::E2bFrontend(plugin::Host host, Settings settings) : host_(host), settings_(std::move(settings)) {}
E2bFrontend::~E2bFrontend() = default;

std::shared_ptr<E2bFrontend::Running> E2bFrontend::running() const {
  std::lock_guard lock(mutex_);
  return running_;
}

Result<json> E2bFrontend::start(const Call&) {
  if (running()) return make_error(ErrorCode::failed_precondition, "it has been started already");
  auto made = std::make_shared<Running>(settings_);
  HARENA_TRY_STATUS(made->open(host_));
  const std::string url = frontend::url_of(made->settings);
  json addresses = json::array();
  if (!settings_.public_url.empty()) addresses.push_back(settings_.public_url);  // first: what clients use
  addresses.push_back(url);
  std::lock_guard lock(mutex_);
  running_ = std::move(made);
  return json{{"listen", std::move(addresses)}};
}

Status E2bFrontend::drain(const Call& call) {
  const auto ending = running();
  if (!ending) return ok_status();
  ending->warm->stop(std::min(kWarmStop, std::chrono::milliseconds(call.remaining_ms(0))));
  ending->server->stop(std::chrono::milliseconds(call.remaining_ms(0)));
  ending->io->stop();
  std::lock_guard lock(mutex_);
  running_.reset();
  return ok_status();
}

Result<json> E2bFrontend::metrics(const Call&) {
  const auto now = running();
  return now ? now->counters.metrics() : json{{"metrics", json::array()}};
}

}  // namespace harena::e2b
