#include "core/apiserver/apiserver_role.hpp"
#include "sdk/http/tls.hpp"

namespace harena {
Step ApiserverRole::listen_step() {
  return {"api",
          [this]() -> Status {
            const auto& config = parts_.config;
            http::ServerOptions options;
            http::TcpListen listen{.address = config.api.host, .port = config.api.port};
            if (config.tls) {
              HARENA_TRY(listen.tls, http::TlsContext::for_server({.certificate_chain_file = config.tls->cert, .private_key_file = config.tls->key}));
            }
            options.tcp = {std::move(listen)};
            options.max_connections = static_cast<std::size_t>(config.limits.max_connections);
            options.on_exchange = parts_.on_exchange;
            HARENA_TRY(server_, http::Server::start(*io_, std::move(options), router_->handler()));
            parts_.notice("info", "the API listens on " + config.api.host + ":" + std::to_string(server_->port()));
            return ok_status();
          },
          [this] {
            server_->stop(std::chrono::seconds(parts_.config.limits.drain_s));
            server_.reset();
          }};
}

}  // namespace harena
