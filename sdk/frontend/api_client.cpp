#include "sdk/frontend/api_client.hpp"

#include <boost/asio/query.hpp>

#include "sdk/http/error.hpp"
#include "sdk/http/socket_stream.hpp"

namespace harena::frontend {

using http::Task;
using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

// Less than the server's 75 s, so that no request meets a connection that is just being closed.
constexpr std::chrono::seconds kKept{50};
constexpr std::size_t kMaxKept = 32;  ///< a loop
constexpr std::size_t kMaxAnswerBytes = 64 << 20;

http::Headers headers_of(ApiRequest& request) {
  auto headers = std::move(request.headers);
  if (!headers.contains("Host")) headers.add("Host", "harena");
  if (!request.token.empty()) headers.set("Authorization", "Bearer " + request.token);
  return headers;
}

}  // namespace

/// Connections of one loop between requests. Used on that loop alone.
struct Exchange::Pool {
  struct Kept {
    std::unique_ptr<http::ClientConnection> connection;
    Clock::time_point since;
  };
  std::vector<Kept> kept;

  std::unique_ptr<http::ClientConnection> take() {
    while (!kept.empty()) {
      auto last = std::move(kept.back());
      kept.pop_back();
      if (Clock::now() - last.since < kKept) return std::move(last.connection);
      kept.clear();  // those below are older
    }
    return nullptr;
  }
  void give_back(std::unique_ptr<http::ClientConnection> connection) {
    if (connection->reusable() && kept.size() < kMaxKept) kept.push_back({std::move(connection), Clock::now()});
  }
};

Exchange::Exchange(std::unique_ptr<http::ClientConnection> connection, std::shared_ptr<Pool> pool)
    : connection_(std::move(connection)), pool_(std::move(pool)) {}

Exchange::~Exchange() {
  if (connection_) pool_->give_back(std::move(connection_));
}

Task<Status> Exchange::finish_body() {
  const http::Headers none;
  co_return co_await connection_->finish_body(none);
}

std::unique_ptr<http::ByteStream> Exchange::take_stream() {
  auto stream = connection_->take_stream();
  connection_.reset();
  return stream;
}

Result<std::shared_ptr<ApiClient>> ApiClient::make(const plugin::Host& host) {
  HARENA_TRY(const auto api, plugin::HostApi::of(host));
  return std::shared_ptr<ApiClient>(new ApiClient(api));
}

ApiClient::~ApiClient() = default;

std::shared_ptr<Exchange::Pool> ApiClient::pool_of(const boost::asio::any_io_executor& executor) {
  const void* loop = &boost::asio::query(executor, boost::asio::execution::context);
  std::lock_guard lock(mutex_);
  auto& pool = pools_[loop];
  if (!pool) pool = std::make_shared<Exchange::Pool>();
  return pool;
}

Task<Result<std::unique_ptr<http::ByteStream>>> ApiClient::connect() {
  HARENA_CO_TRY(auto fd, api_.connect());
  co_return co_await http::adopt_stream(std::move(fd));
}

Task<Result<std::unique_ptr<Exchange>>> ApiClient::send(ApiRequest request) {
  const auto pool = pool_of(co_await boost::asio::this_coro::executor);
  auto connection = pool->take();
  if (!connection) {
    HARENA_CO_TRY(auto stream, co_await connect());
    connection = std::make_unique<http::ClientConnection>(std::move(stream));
  }
  auto headers = headers_of(request);
  http::ClientHead head{std::move(request.method), std::move(request.target), std::move(headers), request.body, request.length};
  if (request.text.empty()) {
    HARENA_CO_TRY_STATUS(co_await connection->send_head(std::move(head)));
  } else {
    HARENA_CO_TRY_STATUS(co_await connection->send_whole(std::move(head), request.text));
  }
  co_return std::unique_ptr<Exchange>(new Exchange(std::move(connection), pool));
}

Task<Result<http::FetchResponse>> ApiClient::fetch(ApiRequest request) {
  HARENA_CO_TRY(const auto exchange, co_await send(std::move(request)));
  HARENA_CO_TRY(auto head, co_await exchange->read_head());
  HARENA_CO_TRY(auto body, co_await exchange->read_all(kMaxAnswerBytes));
  co_return http::FetchResponse{head.status, std::move(head.headers), std::move(body)};
}

Task<Result<json>> ApiClient::ask(std::string method, std::string target, std::string token, json body) {
  ApiRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.token = std::move(token);
  if (!body.is_null()) {
    request.text = body.dump(-1, ' ', false, json::error_handler_t::replace);
    request.headers.add("Content-Type", "application/json");
  }
  HARENA_CO_TRY(const auto answer, co_await fetch(std::move(request)));
  if (answer.status >= 300) co_return http::parse_error(answer.status, answer.body);
  if (answer.body.empty()) co_return json::object();
  auto document = json::parse(answer.body, nullptr, false);
  if (document.is_discarded()) co_return make_error(ErrorCode::internal, "the API's answer isn't JSON");
  co_return document;
}

Task<Result<std::unique_ptr<http::WebSocket>>> ApiClient::websocket(ApiRequest request, http::WebSocketOptions options) {
  HARENA_CO_TRY(auto stream, co_await connect());
  auto headers = headers_of(request);
  co_return co_await http::connect_websocket(std::move(stream), std::move(request.target), std::move(headers), std::move(options));
}

}  // namespace harena::frontend
