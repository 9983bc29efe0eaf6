#include "sdk/http/client.hpp"

#include <algorithm>
#include <array>

#include "sdk/base/random.hpp"
#include "sdk/base/text.hpp"
#include "sdk/http/error.hpp"
#include "sdk/http/socket_stream.hpp"

namespace harena::http {
namespace {

constexpr std::size_t kMaxErrorBytes = 64 * 1024;

// Sending it twice does what sending it once does (RFC 9110 9.2.2).
bool is_idempotent(std::string_view method) {
  constexpr std::array<std::string_view, 5> kMethods = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"};
  return std::find(kMethods.begin(), kMethods.end(), method) != kMethods.end();
}

std::string new_key() {
  SystemRandom random;
  std::array<std::byte, 16> bytes;
  random.fill(bytes);
  return base64_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Status check_websocket_answer(const ResponseHead& answer, const std::string& key, const WebSocketOptions& options) {
  const auto bad = [](const char* what) { return make_error(ErrorCode::invalid_argument, std::string("WebSocket handshake: ") + what); };
  if (!answer.headers.has_token("Upgrade", "websocket")) return bad("the answer lacks 'Upgrade: websocket'");
  if (answer.headers.get("Sec-WebSocket-Accept") != websocket_accept(key)) return bad("wrong Sec-WebSocket-Accept");
  const auto protocol = answer.headers.get("Sec-WebSocket-Protocol");
  const auto& offered = options.protocols;
  if (protocol && std::find(offered.begin(), offered.end(), *protocol) == offered.end()) {
    return bad("a sub-protocol that wasn't offered");
  }
  return ok_status();
}

void add_handshake(Headers& headers, const std::string& key, const WebSocketOptions& options) {
  headers.set("Connection", "Upgrade");
  headers.set("Upgrade", "websocket");
  headers.set("Sec-WebSocket-Version", "13");
  headers.set("Sec-WebSocket-Key", key);
  std::string offered;
  for (const auto& protocol : options.protocols) offered += (offered.empty() ? "" : ", ") + protocol;
  if (!offered.empty()) headers.set("Sec-WebSocket-Protocol", offered);
  if (!headers.contains("Host")) headers.add("Host", "localhost");
}

}  // namespace

std::string Endpoint::authority() const {
  const auto name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == 0 ? name : name + ":" + std::to_string(port);
}

Task<Result<std::unique_ptr<ByteStream>>> connect(Endpoint endpoint) {
  if (!endpoint.unix_path.empty()) co_return co_await connect_unix(endpoint.unix_path);
  HARENA_CO_TRY(auto stream, co_await connect_tcp(endpoint.host, endpoint.port));
  if (!endpoint.tls) co_return stream;
  co_return co_await endpoint.tls->connect(std::move(stream), endpoint.host);
}

void Client::complete(Headers& headers) const {
  if (!headers.contains("Host")) headers.add("Host", options_.endpoint.authority());
}

Task<Result<std::unique_ptr<ClientConnection>>> Client::take() {
  if (!idle_.empty()) {
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    co_return connection;
  }
  HARENA_CO_TRY(auto stream, co_await with_timeout(connect(options_.endpoint), options_.connect_timeout, "connecting"));
  co_return std::make_unique<ClientConnection>(std::move(stream));
}

void Client::give_back(std::unique_ptr<ClientConnection> connection) {
  if (connection->reusable() && idle_.size() < options_.max_idle_connections) idle_.push_back(std::move(connection));
}

Task<Result<FetchResponse>> Client::exchange(ClientConnection& connection, const FetchRequest& request) {
  ClientHead head{request.method, request.target, request.headers, BodyKind::none, 0};
  HARENA_CO_TRY_STATUS(co_await connection.send_whole(std::move(head), request.body));
  HARENA_CO_TRY(auto answer, co_await connection.read_head());
  HARENA_CO_TRY(auto body, co_await connection.read_all(options_.max_body_bytes));
  co_return FetchResponse{answer.status, std::move(answer.headers), std::move(body)};
}

Task<Result<FetchResponse>> Client::fetch(FetchRequest request) {
  complete(request.headers);
  while (true) {
    const bool kept = !idle_.empty();
    HARENA_CO_TRY(auto connection, co_await take());
    auto response = co_await exchange(*connection, request);
    const bool again = !response.ok() && kept && connection->untouched() && is_idempotent(request.method) &&
                       response.error().code == ErrorCode::unavailable;
    if (again) continue;
    give_back(std::move(connection));
    co_return response;
  }
}

Task<Result<std::unique_ptr<WebSocket>>> connect_websocket(std::unique_ptr<ByteStream> stream, std::string target,
                                                           Headers headers, WebSocketOptions options) {
  const auto key = new_key();
  add_handshake(headers, key, options);
  ClientConnection connection(std::move(stream));
  ClientHead head{"GET", std::move(target), std::move(headers), BodyKind::none, 0};
  HARENA_CO_TRY_STATUS(co_await connection.send_head(std::move(head)));
  HARENA_CO_TRY(const auto answer, co_await connection.read_head());
  if (answer.status != 101) {
    auto body = co_await connection.read_all(kMaxErrorBytes);
    co_return parse_error(answer.status, body.ok() ? *body : std::string());
  }
  HARENA_CO_TRY_STATUS(check_websocket_answer(answer, key, options));
  std::string protocol(answer.headers.get("Sec-WebSocket-Protocol").value_or(""));
  co_return make_websocket(connection.take_stream(), WebSocketRole::client, options, std::move(protocol));
}

}  // namespace harena::http
