#pragma once
// Client: requests to an endpoint with kept-alive connections. Redirects are never followed.
//
//   Client client({Endpoint::tcp("127.0.0.1", 7300)});
//   HARENA_CO_TRY(auto answer, co_await client.fetch({.method = "GET", .target = "/v1/sandboxes"}));

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sdk/http/client_connection.hpp"
#include "sdk/http/tls.hpp"
#include "sdk/http/websocket.hpp"

namespace harena::http {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  /// If set, host and port only name it in the Host header.
  std::filesystem::path unix_path;
  std::shared_ptr<TlsContext> tls;

  static Endpoint tcp(std::string host, std::uint16_t port) { return {std::move(host), port, {}, nullptr}; }
  static Endpoint local(std::filesystem::path path) { return {"localhost", 0, std::move(path), nullptr}; }
  /// What the Host header says.
  std::string authority() const;
};

/// A fresh connection, TLS done.
Task<Result<std::unique_ptr<ByteStream>>> connect(Endpoint endpoint);

struct ClientOptions {
  Endpoint endpoint;
  std::size_t max_idle_connections = 16;
  std::chrono::milliseconds connect_timeout{10'000};
  /// fetch() only: a larger answer is resource_exhausted.
  std::size_t max_body_bytes = 16 * 1024 * 1024;
};

struct FetchRequest {
  std::string method = "GET";
  std::string target = "/";
  Headers headers;
  std::string body;
};

struct FetchResponse {
  int status = 0;
  Headers headers;
  std::string body;
};

/// Lives on one executor, like the streams it holds.
class Client {
 public:
  explicit Client(ClientOptions options) : options_(std::move(options)) {}

  /// A whole request and a whole answer, whatever its status. A kept connection that turns out to be closed is replaced and
  /// the request sent again, but only if it is safe (GET, HEAD, OPTIONS, PUT, DELETE).
  Task<Result<FetchResponse>> fetch(FetchRequest request);
  /// A connection for streaming; hand it back with give_back() when it is through.
  Task<Result<std::unique_ptr<ClientConnection>>> take();
  /// Keeps the connection if it can carry another request.
  void give_back(std::unique_ptr<ClientConnection> connection);
  /// Host, if absent.
  void complete(Headers& headers) const;

 private:
  Task<Result<FetchResponse>> exchange(ClientConnection& connection, const FetchRequest& request);

  ClientOptions options_;
  std::vector<std::unique_ptr<ClientConnection>> idle_;
};

/// A WebSocket from a fresh stream. Another answer than 101 becomes its Error (error.hpp).
Task<Result<std::unique_ptr<WebSocket>>> connect_websocket(std::unique_ptr<ByteStream> stream, std::string target,
                                                           Headers headers, WebSocketOptions options);

}  // namespace harena::http
