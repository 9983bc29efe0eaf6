#include "plugins/fake/fake_frontend.hpp"

#include <vector>

#include "sdk/frontend/api_client.hpp"
#include "sdk/http/server.hpp"

namespace harena::fake {

using http::Task;
using plugin::Call;
using plugin::json;

namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;

frontend::ApiRequest same_request(const http::Request& request) {
  frontend::ApiRequest out;
  out.method = request.method();
  out.target = request.target();
  out.headers = request.headers();
  http::remove_hop_by_hop(out.headers);
  out.length = request.body_length().value_or(0);
  if (!request.body_length()) out.body = http::BodyKind::chunked;
  else if (out.length > 0) out.body = http::BodyKind::length;
  return out;
}

Task<Status> forward(frontend::ApiClient& api, http::Request& request, http::ResponseWriter& response) {
  auto asked = same_request(request);
  const bool has_body = asked.body != http::BodyKind::none;
  HARENA_CO_TRY(const auto exchange, co_await api.send(std::move(asked)));
  std::vector<std::byte> block(kBlockBytes);
  while (has_body) {
    HARENA_CO_TRY(const std::size_t count, co_await request.read(block));
    if (count == 0) break;
    const auto part = std::span<const std::byte>(block).first(count);
    HARENA_CO_TRY_STATUS(co_await exchange->write_body(part));
  }
  if (has_body) HARENA_CO_TRY_STATUS(co_await exchange->finish_body());
  HARENA_CO_TRY(auto head, co_await exchange->read_head());
  http::remove_hop_by_hop(head.headers);
  HARENA_CO_TRY_STATUS(co_await response.begin(head.status, std::move(head.headers), head.length));
  while (true) {
    HARENA_CO_TRY(const std::size_t count, co_await exchange->read_body(block));
    if (count == 0) break;
    const auto part = std::span<const std::byte>(block).first(count);
    HARENA_CO_TRY_STATUS(co_await response.write(part));
  }
  co_return co_await response.finish();
}

}  // namespace

/// In the order of making.
struct FakeFrontend::Running {
  http::IoThreads io{1};
  std::shared_ptr<frontend::ApiClient> api;
  std::unique_ptr<http::Server> server;

  ~Running() { end(std::chrono::milliseconds(0)); }
  void end(std::chrono::milliseconds deadline) {
    if (server) server->stop(deadline);
    io.stop();
  }
};

Result<std::unique_ptr<FakeFrontend>> FakeFrontend::make(const Call&, plugin::Host host, const json& config) {
  return std::make_unique<FakeFrontend>(host, config.value("address", "127.0.0.1"), config.value("port", std::uint16_t{0}));
}

FakeFrontend::FakeFrontend(plugin::Host host, std::string address, std::uint16_t port)
    : host_(host), address_(std::move(address)), port_(port) {}
FakeFrontend::~FakeFrontend() = default;

Result<json> FakeFrontend::start(const Call&) {
  if (running_) return make_error(ErrorCode::failed_precondition, "it has been started already");
  auto made = std::make_unique<Running>();
  HARENA_TRY(made->api, frontend::ApiClient::make(host_));
  http::ServerOptions options;
  options.tcp = {{.address = address_, .port = port_, .tls = nullptr}};
  auto handler = [this, api = made->api.get()](http::Request& request, http::ResponseWriter& response) {
    ++requests_;
    return forward(*api, request, response);
  };
  HARENA_TRY(made->server, http::Server::start(made->io, std::move(options), std::move(handler)));
  const auto port = made->server->port();
  running_ = std::move(made);
  return json{{"listen", {"http://" + address_ + ":" + std::to_string(port)}}};
}

Status FakeFrontend::drain(const Call& call) {
  if (running_) running_->end(std::chrono::milliseconds(call.remaining_ms(0)));
  running_.reset();
  return ok_status();
}

Result<json> FakeFrontend::metrics(const Call&) {
  json series = json::array({{{"labels", json::object()}, {"value", requests_.load()}}});
  json metric = {{"name", "harena_fake_frontend_requests_total"}, {"help", "Requests."}, {"type", "counter"}, {"series", std::move(series)}};
  return json{{"metrics", json::array({std::move(metric)})}};
}

}  // namespace harena::fake

HARENA_PLUGIN(harena::fake::FakeFrontend)
