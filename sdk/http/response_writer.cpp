#include "sdk/http/response_writer.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "sdk/http/error.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/websocket.hpp"

namespace harena::http {
namespace {

Status check_headers(const Headers& headers) {
  if (headers.valid()) return ok_status();
  return make_error(ErrorCode::invalid_argument,
                    "a response header has a name that is no token, or a value with CR, LF or NUL");
}

std::string dump(const nlohmann::json& body) {
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Task<Status> ResponseSink::begin_with(int status, const Headers& headers, std::optional<std::uint64_t> length,
                                      std::span<const std::byte> first) {
  HARENA_CO_TRY_STATUS(co_await begin(status, headers, length));
  co_return co_await write(first);
}

Task<Status> ResponseSink::finish_with(std::span<const std::byte> last) {
  const Headers none;
  HARENA_CO_TRY_STATUS(co_await write(last));
  co_return co_await finish(none);
}

Status ResponseWriter::enter(State required, State next, const char* verb) {
  if (state_ != required) {
    return make_error(ErrorCode::failed_precondition,
                      std::string("response: ") + verb + (finished() ? " after the end" : " out of order"));
  }
  state_ = next;
  return ok_status();
}

Task<Status> ResponseWriter::send(int status, Headers headers, std::string_view body) {
  HARENA_CO_TRY_STATUS(check_headers(headers));
  HARENA_CO_TRY_STATUS(enter(State::fresh, State::done, "send"));
  status_ = status;
  co_return co_await sink_.send(status, headers, body);
}

Task<Status> ResponseWriter::send_json(int status, const nlohmann::json& body) {
  Headers headers;
  headers.add("Content-Type", "application/json");
  const auto text = dump(body);
  co_return co_await send(status, std::move(headers), text);
}

Task<Status> ResponseWriter::send_error(const Error& error) {
  const nlohmann::json no_details;
  co_return co_await send_error(error, no_details);
}

Task<Status> ResponseWriter::send_error(const Error& error, const nlohmann::json& details,
                                        std::optional<int> status) {
  Headers headers;
  headers.add("Content-Type", "application/json");
  const int code = status.value_or(http_status(error.code));
  if (code == 401) headers.add("WWW-Authenticate", "Bearer");
  const auto text = error_body(error, details);
  co_return co_await send(code, std::move(headers), text);
}

Status ResponseWriter::set_reason(std::string reason) {
  const bool bad = std::any_of(reason.begin(), reason.end(), [](unsigned char c) { return (c < ' ' && c != '\t') || c == 127; });
  if (bad) return make_error(ErrorCode::invalid_argument, "a reason phrase with control characters");
  sink_.set_reason(std::move(reason));
  return ok_status();
}

Task<Status> ResponseWriter::inform(int status, Headers headers) {
  HARENA_CO_TRY_STATUS(check_headers(headers));
  HARENA_CO_TRY_STATUS(enter(State::fresh, State::fresh, "inform"));
  co_return co_await sink_.inform(status, headers);
}

Task<Status> ResponseWriter::begin(int status, Headers headers, std::optional<std::uint64_t> length) {
  HARENA_CO_TRY_STATUS(check_headers(headers));
  HARENA_CO_TRY_STATUS(enter(State::fresh, State::streaming, "begin"));
  status_ = status;
  co_return co_await sink_.begin(status, headers, length);
}

Task<Status> ResponseWriter::write(std::span<const std::byte> bytes) {
  HARENA_CO_TRY_STATUS(enter(State::streaming, State::streaming, "write"));
  co_return co_await sink_.write(bytes);
}

Task<Status> ResponseWriter::finish(Headers trailers) {
  HARENA_CO_TRY_STATUS(check_headers(trailers));
  HARENA_CO_TRY_STATUS(enter(State::streaming, State::done, "finish"));
  co_return co_await sink_.finish(trailers);
}

Task<Status> ResponseWriter::begin_with(int status, Headers headers, std::optional<std::uint64_t> length,
                                        std::span<const std::byte> first) {
  HARENA_CO_TRY_STATUS(check_headers(headers));
  HARENA_CO_TRY_STATUS(enter(State::fresh, State::streaming, "begin"));
  status_ = status;
  co_return co_await sink_.begin_with(status, headers, length, first);
}

Task<Status> ResponseWriter::finish_with(std::span<const std::byte> last) {
  HARENA_CO_TRY_STATUS(enter(State::streaming, State::done, "finish"));
  co_return co_await sink_.finish_with(last);
}

Task<Result<std::unique_ptr<ByteStream>>> ResponseWriter::upgrade(std::string protocol, Headers headers) {
  headers.set("Connection", "Upgrade");
  headers.set("Upgrade", std::move(protocol));
  co_return co_await take_over(101, std::move(headers));
}

Task<Result<std::unique_ptr<ByteStream>>> ResponseWriter::take_over(int status, Headers headers) {
  HARENA_CO_TRY_STATUS(check_headers(headers));
  HARENA_CO_TRY_STATUS(enter(State::fresh, State::taken, "upgrade"));
  status_ = status;
  co_return co_await sink_.upgrade(status, headers);
}

Task<Result<std::unique_ptr<WebSocket>>> ResponseWriter::accept_websocket(const WebSocketOptions& options) {
  HARENA_CO_TRY(auto answer, websocket_answer(request_.method(), request_.headers(), options));
  HARENA_CO_TRY(auto stream, co_await take_over(101, std::move(answer.headers)));
  co_return make_websocket(std::move(stream), WebSocketRole::server, options, std::move(answer.protocol));
}

}  // namespace harena::http
