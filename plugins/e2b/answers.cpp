#include "plugins/e2b/answers.hpp"

#include "sdk/http/error.hpp"

namespace harena::e2b {

using nlohmann::json;

namespace {

/// The statuses that E2B's clients know; 502 is never among them, since to them it means that a sandbox is gone.
int status_of(const Error& error) {
  const int status = http::http_status(error.code);
  switch (status) {
    case 416: return 400;
    case 499: return 503;
    case 501: return 400;  // what can't be honoured is the request's fault, says docs/e2b.md
    case 502: return 503;
    default: return status;
  }
}

}  // namespace

Answer refusal(int status, std::string message) {
  Answer answer{status, {{"code", status}, {"message", std::move(message)}}};
  if (status == 429 || status == 503) answer.headers.add("Retry-After", "1");
  return answer;
}

Answer refusal(const Error& error) { return refusal(status_of(error), error.message); }

http::Task<Status> send(http::ResponseWriter& response, Answer answer) {
  if (answer.body.is_null()) {
    const std::string_view none;
    co_return co_await response.send(answer.status, std::move(answer.headers), none);
  }
  answer.headers.set("Content-Type", "application/json");
  const auto text = answer.body.dump(-1, ' ', false, json::error_handler_t::replace);
  co_return co_await response.send(answer.status, std::move(answer.headers), text);
}

}  // namespace harena::e2b
