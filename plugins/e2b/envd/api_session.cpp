#include "plugins/e2b/envd/api_session.hpp"

#include <array>

#include "sdk/http/error.hpp"

namespace harena::e2b {

using http::ClientHead;
using http::Task;
using nlohmann::json;

namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;

ClientHead make_head(std::string method, std::string target, const std::string& credential) {
  ClientHead head;
  head.method = std::move(method);
  head.target = std::move(target);
  head.headers.add("Host", "harena");
  head.headers.add("Authorization", "Bearer " + credential);
  return head;
}

/// Passes a body on; an answer that comes before its end is no error of ours, it is read next.
Task<Status> pass_on(http::ClientConnection& connection, http::BodySource& body) {
  auto block = std::make_unique<std::array<std::byte, kBlockBytes>>();
  for (;;) {
    const std::span<std::byte> all(*block);
    HARENA_CO_TRY(const auto count, co_await body.read_body(all));
    if (count == 0) break;
    const auto part = all.first(count);
    auto written = co_await connection.write_body(part);
    if (!written) co_return ok_status();
  }
  const http::Headers none;
  auto finished = co_await connection.finish_body(none);
  co_return ok_status();
}

}  // namespace

Task<Status> ApiSession::ready() {
  reason_.clear();
  if (connection_ && connection_->reusable()) co_return ok_status();
  connection_.reset();
  HARENA_CO_TRY(auto stream, co_await connect_());
  connection_ = std::make_unique<http::ClientConnection>(std::move(stream));
  co_return ok_status();
}

Task<Result<http::ResponseHead>> ApiSession::begin(ClientHead head, std::string text) {
  HARENA_CO_TRY_STATUS(co_await ready());
  if (!text.empty()) head.body = http::BodyKind::length;
  head.length = text.size();
  HARENA_CO_TRY_STATUS(co_await connection_->send_head(std::move(head)));
  if (!text.empty()) {
    const auto bytes = std::as_bytes(std::span(text));
    HARENA_CO_TRY_STATUS(co_await connection_->write_body(bytes));
  }
  const http::Headers none;
  HARENA_CO_TRY_STATUS(co_await connection_->finish_body(none));
  co_return co_await connection_->read_head();
}

Task<Error> ApiSession::error_of(const http::ResponseHead& head) {
  auto body = co_await read_all();
  const std::string text = body ? *body : std::string();
  const auto document = json::parse(text, nullptr, false);
  if (document.is_object() && document.contains("error") && document["error"].is_object()) {
    const auto& error = document["error"];
    const auto details = error.value("details", json::object());
    if (details.is_object()) reason_ = details.value("reason", "");
  }
  co_return http::parse_error(head.status, text);
}

Task<Result<json>> ApiSession::whole(http::ResponseHead head) {
  if (head.status >= 400) co_return co_await error_of(head);
  HARENA_CO_TRY(const auto text, co_await read_all());
  if (text.empty()) co_return json();
  auto document = json::parse(text, nullptr, false);
  if (document.is_discarded()) co_return make_error(ErrorCode::internal, "the API answered something that isn't JSON");
  co_return std::move(document);
}

Task<Result<json>> ApiSession::ask(std::string method, std::string target) {
  auto head = make_head(std::move(method), std::move(target), credential_);
  HARENA_CO_TRY(auto answer, co_await begin(std::move(head), std::string()));
  co_return co_await whole(std::move(answer));
}

Task<Result<json>> ApiSession::ask(std::string method, std::string target, json body) {
  ApiBody text;
  text.text = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return send(std::move(method), std::move(target), std::move(text));
}

Task<Result<json>> ApiSession::send(std::string method, std::string target, ApiBody body) {
  auto head = make_head(std::move(method), std::move(target), credential_);
  head.headers.add("Content-Type", body.type);
  HARENA_CO_TRY(auto answer, co_await begin(std::move(head), std::move(body.text)));
  co_return co_await whole(std::move(answer));
}

Task<Result<json>> ApiSession::upload(std::string method, std::string target, http::BodySource& body) {
  HARENA_CO_TRY_STATUS(co_await ready());
  auto head = make_head(std::move(method), std::move(target), credential_);
  head.headers.add("Content-Type", "application/octet-stream");
  head.body = http::BodyKind::chunked;
  if (const auto length = body.body_length()) {
    head.body = http::BodyKind::length;
    head.length = *length;
  }
  HARENA_CO_TRY_STATUS(co_await connection_->send_head(std::move(head)));
  HARENA_CO_TRY_STATUS(co_await pass_on(*connection_, body));
  HARENA_CO_TRY(auto answer, co_await connection_->read_head());
  co_return co_await whole(std::move(answer));
}

Task<Result<http::ResponseHead>> ApiSession::open(std::string target, http::Headers headers) {
  auto head = make_head("GET", std::move(target), credential_);
  for (const auto& field : headers) head.headers.add(field.name, field.value);
  co_return co_await begin(std::move(head), std::string());
}

}  // namespace harena::e2b
