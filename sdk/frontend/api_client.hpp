#pragma once
// ApiClient: the core's API for a frontend plugin, as coroutines on the plugin's own I/O loops; no thread ever blocks.
//
//   HARENA_TRY(auto api, ApiClient::make(host));
//   HARENA_CO_TRY(const auto answer, co_await api->fetch({.method = "GET", .target = "/v1/sandboxes", .token = key}));
//
//   HARENA_CO_TRY(auto exchange, co_await api->send({.method = "PUT", .target = to, .token = key, .body = BodyKind::chunked}));
//   ... exchange->write_body(), finish_body(), read_head(), read_body() ...
//
// The surprising rule: destroying an Exchange in the middle cancels the call, as a client that hangs up does.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sdk/cpp/frontend.hpp"
#include "sdk/http/client.hpp"
#include "sdk/http/client_connection.hpp"
#include "sdk/http/websocket.hpp"

namespace harena::frontend {

struct ApiRequest {
  std::string method = "GET";
  /// Encoded, with its query: "/v1/sandboxes?limit=10".
  std::string target = "/";
  /// The caller's credential; sent as `Authorization: Bearer`. Empty: none is sent (but what `headers` have).
  std::string token;
  http::Headers headers;
  /// The whole body, which goes out in one piece with the head. With it nothing is left to write.
  std::string text;
  /// send(): what write_body() will write.
  http::BodyKind body = http::BodyKind::none;
  std::uint64_t length = 0;  ///< with BodyKind::length
};

/// One request under way. Lives on the loop on which it was made; reading and writing may overlap.
class Exchange {
 public:
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Returns when the API's side has taken the bytes: the back-pressure.
  http::Task<Status> write_body(std::span<const std::byte> bytes) { return connection_->write_body(bytes); }
  http::Task<Status> write_body(std::string_view text) { return write_body(std::as_bytes(std::span(text))); }
  http::Task<Status> finish_body();
  /// The answer's head, whatever its status; interim answers are skipped.
  http::Task<Result<http::ResponseHead>> read_head() { return connection_->read_head(); }
  /// 1 to into.size() bytes, 0 at the end. Errors: unavailable when the answer broke off.
  http::Task<Result<std::size_t>> read_body(std::span<std::byte> into) { return connection_->read_body(into); }
  /// The rest of the body; resource_exhausted beyond `limit_bytes`.
  http::Task<Result<std::string>> read_all(std::size_t limit_bytes) { return connection_->read_all(limit_bytes); }
  const http::Headers& trailers() const { return connection_->trailers(); }
  /// After 101: the connection as a stream. The exchange is spent.
  std::unique_ptr<http::ByteStream> take_stream();

 private:
  friend class ApiClient;
  struct Pool;
  Exchange(std::unique_ptr<http::ClientConnection> connection, std::shared_ptr<Pool> pool);
  std::unique_ptr<http::ClientConnection> connection_;
  std::shared_ptr<Pool> pool_;
};

/// Thread-safe; each loop has kept connections of its own. Must be destroyed before the loops on which it was used, and when
/// nothing runs on them any more.
class ApiClient {
 public:
  /// failed_precondition when the host has no API to offer.
  static Result<std::shared_ptr<ApiClient>> make(const plugin::Host& host);
  ~ApiClient();

  /// A whole request and a whole answer, whatever its status. resource_exhausted for an answer over 64 MiB.
  http::Task<Result<http::FetchResponse>> fetch(ApiRequest request);
  /// The JSON of an answer below 300 ({} for an empty one); the API's error otherwise, as it was meant (http::parse_error).
  /// `body` null: none is sent.
  http::Task<Result<nlohmann::json>> ask(std::string method, std::string target, std::string token, nlohmann::json body = nullptr);
  /// Sends the head; the body, if any, is the caller's to write.
  http::Task<Result<std::unique_ptr<Exchange>>> send(ApiRequest request);
  /// A connection of its own, for who speaks HTTP on it himself.
  http::Task<Result<std::unique_ptr<http::ByteStream>>> connect();
  /// What the host says beside the API: act_for(), secret().
  const plugin::HostApi& host() const { return api_; }
  /// A WebSocket of the API (a terminal, or one behind /ports).
  http::Task<Result<std::unique_ptr<http::WebSocket>>> websocket(ApiRequest request, http::WebSocketOptions options = {});

 private:
  explicit ApiClient(plugin::HostApi api) : api_(api) {}
  std::shared_ptr<Exchange::Pool> pool_of(const boost::asio::any_io_executor& executor);

  const plugin::HostApi api_;
  std::mutex mutex_;
  std::map<const void*, std::shared_ptr<Exchange::Pool>> pools_;
};

}  // namespace harena::frontend
