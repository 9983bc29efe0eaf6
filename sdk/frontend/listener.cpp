#include "sdk/frontend/listener.hpp"

#include <utility>

#include "sdk/base/text.hpp"
#include "sdk/http/tls.hpp"

namespace harena::frontend {

using nlohmann::json;

namespace {

Status parse_address(const std::string& text, const std::string& example, Listen& out) {
  const auto colon = text.rfind(':');
  const auto port = parse_int(colon == std::string::npos ? "" : text.substr(colon + 1), 0, 65'535, "port");
  if (!port.ok()) return make_error(ErrorCode::invalid_argument, "listen is '" + text + "'; ADDRESS:PORT is right, such as " + example);
  out.host = text.substr(0, colon);
  if (out.host.size() > 2 && out.host.front() == '[' && out.host.back() == ']') out.host = out.host.substr(1, out.host.size() - 2);
  out.port = static_cast<std::uint16_t>(*port);
  return ok_status();
}

}  // namespace

Result<Listen> parse_listen(const json& document, const std::string& fallback, std::size_t max_connections) {
  Listen listen;
  HARENA_TRY_STATUS(parse_address(document.value("listen", fallback), fallback, listen));
  const auto tls = document.value("tls", json::object());
  listen.tls_cert = tls.value("cert", "");
  listen.tls_key = tls.value("key", "");
  listen.max_connections = document.value("max_connections", max_connections);
  return listen;
}

Result<std::unique_ptr<http::Server>> start_server(http::IoThreads& io, const Listen& listen, http::Handler handler) {
  http::ServerOptions options;
  http::TcpListen where{.address = listen.host, .port = listen.port};
  if (!listen.tls_cert.empty()) {
    http::TlsServerOptions tls{.certificate_chain_file = listen.tls_cert, .private_key_file = listen.tls_key};
    HARENA_TRY(where.tls, http::TlsContext::for_server(std::move(tls)));
  }
  options.tcp = {std::move(where)};
  options.max_connections = listen.max_connections;
  return http::Server::start(io, std::move(options), std::move(handler));
}

std::string url_of(const Listen& listen) {
  const bool is_v6 = listen.host.find(':') != std::string::npos;
  const auto address = (is_v6 ? "[" + listen.host + "]" : listen.host) + ":" + std::to_string(listen.port);
  return (listen.tls_cert.empty() ? "http://" : "https://") + address;
}

}  // namespace harena::frontend
