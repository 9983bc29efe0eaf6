#include "plugins/e2b/envd/api_session.hpp"

#include <vector>

#include "plugins/e2b/envd/refusal_reason.hpp"
#include "sdk/http/error.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

constexpr std::size_t kMaxAnswerBytes = 16 << 20;
constexpr std::size_t kChannelBlockBytes = 256 * 1024;

std::string text_of(const json& body) { return body.dump(-1, ' ', false, json::error_handler_t::replace); }

/// Passes a body on; an answer that comes before its end is no error of ours, it is read next.
Task<Status> pass_on(frontend::Exchange& exchange, http::BodySource& body) {
  std::vector<std::byte> block(kChannelBlockBytes);
  const std::span<std::byte> all(block);
  for (;;) {
    HARENA_CO_TRY(const auto count, co_await body.read_body(all));
    if (count == 0) break;
    const auto part = all.first(count);
    auto written = co_await exchange.write_body(part);
    if (!written) co_return ok_status();
  }
  (void)co_await exchange.finish_body();
  co_return ok_status();
}

}  // namespace

frontend::ApiRequest ApiSession::request(std::string method, std::string target) const {
  frontend::ApiRequest asked;
  asked.method = std::move(method);
  asked.target = std::move(target);
  asked.token = credential_;
  return asked;
}

Task<Result<http::ResponseHead>> ApiSession::begin(frontend::ApiRequest request) {
  reason_.clear();
  exchange_.reset();
  HARENA_CO_TRY(exchange_, co_await client_.send(std::move(request)));
  co_return co_await exchange_->read_head();
}

Task<Result<std::size_t>> ApiSession::read(std::span<std::byte> into) {
  if (!exchange_) co_return std::size_t{0};
  auto count = co_await exchange_->read_body(into);
  if (count && *count == 0) exchange_.reset();
  co_return count;
}

Task<Result<std::string>> ApiSession::read_all() {
  if (!exchange_) co_return std::string();
  auto text = co_await exchange_->read_all(kMaxAnswerBytes);
  exchange_.reset();
  co_return text;
}

Task<Error> ApiSession::error_of(const http::ResponseHead& head) {
  auto body = co_await read_all();
  const std::string text = body ? *body : std::string();
  reason_ = refusal_reason(text);
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
  HARENA_CO_TRY(auto answer, co_await begin(request(std::move(method), std::move(target))));
  co_return co_await whole(std::move(answer));
}

Task<Result<json>> ApiSession::ask(std::string method, std::string target, json body) {
  ApiBody text;
  text.text = text_of(body);
  return send(std::move(method), std::move(target), std::move(text));
}

Task<Result<json>> ApiSession::send(std::string method, std::string target, ApiBody body) {
  auto asked = request(std::move(method), std::move(target));
  asked.headers.add("Content-Type", body.type);
  asked.text = std::move(body.text);
  HARENA_CO_TRY(auto answer, co_await begin(std::move(asked)));
  co_return co_await whole(std::move(answer));
}

Task<Result<json>> ApiSession::upload(std::string method, std::string target, http::BodySource& body) {
  auto asked = request(std::move(method), std::move(target));
  asked.headers.add("Content-Type", "application/octet-stream");
  asked.body = http::BodyKind::chunked;
  if (const auto length = body.body_length()) {
    asked.body = http::BodyKind::length;
    asked.length = *length;
  }
  reason_.clear();
  exchange_.reset();
  HARENA_CO_TRY(exchange_, co_await client_.send(std::move(asked)));
  HARENA_CO_TRY_STATUS(co_await pass_on(*exchange_, body));
  HARENA_CO_TRY(auto answer, co_await exchange_->read_head());
  co_return co_await whole(std::move(answer));
}

Task<Result<http::ResponseHead>> ApiSession::open(std::string target, http::Headers headers) {
  auto asked = request("GET", std::move(target));
  asked.headers = std::move(headers);
  return begin(std::move(asked));
}

Task<Result<http::ResponseHead>> ApiSession::open(std::string target, http::Headers headers, json body) {
  auto asked = request("POST", std::move(target));
  asked.headers = std::move(headers);
  asked.headers.add("Content-Type", "application/json");
  asked.text = text_of(body);
  return begin(std::move(asked));
}

}  // namespace harena::e2b
