#include "sdk/client/client.hpp"

#include <thread>

#include "sdk/base/text.hpp"
#include "sdk/client/lines.hpp"

namespace harena::client {

namespace {

Request json_request(std::string method, std::string target, const json& body) {
  Request request{.method = std::move(method), .target = std::move(target)};
  request.content_type = "application/json";
  request.body = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return request;
}

}  // namespace

Client::Client(Endpoint endpoint, ClientOptions options)
    : endpoint_(std::move(endpoint)),
      options_(std::move(options)),
      connection_(std::make_unique<Connection>(endpoint_, options_.timeouts)) {
  if (!options_.sleep) options_.sleep = [](std::chrono::milliseconds pause) { std::this_thread::sleep_for(pause); };
}

std::unique_ptr<Client> Client::clone() const { return std::make_unique<Client>(endpoint_, options_); }

Attempts Client::stream_attempts() { return Attempts(options_.stream_retry, random_, options_.sleep); }

Result<json> Client::get(const std::string& target) { return exchange(Request{.target = target}, true); }

Result<json> Client::remove(const std::string& target) {
  return exchange(Request{.method = "DELETE", .target = target}, true);
}

Result<json> Client::post(const std::string& target, const json& body, bool idempotent) {
  return exchange(json_request("POST", target, body), idempotent);
}

Result<json> Client::patch(const std::string& target, const json& body) {
  return exchange(json_request("PATCH", target, body), true);
}

Result<json> Client::exchange(const Request& request, bool idempotent) {
  return exchange(request, idempotent, Attempts(options_.retry, random_, options_.sleep));
}

Result<json> Client::go_on(const Request& request) { return exchange(request, true, stream_attempts()); }

Result<json> Client::exchange(const Request& request, bool idempotent, Attempts tries) {
  while (true) {
    auto response = connection_->call(request);
    if (response.ok()) return response->body.empty() ? json() : parse_json(response->body);
    if (!tries.again(response.error(), idempotent)) return std::move(response).error();
  }
}

Status Client::events(const Request& request, const std::function<Status(const json&)>& on_event) {
  LineSplitter splitter;
  const auto on_line = [&](std::string_view line) -> Status {
    HARENA_TRY(const auto event, parse_json(line));
    return on_event(event);
  };
  HARENA_TRY_STATUS(connection_->stream(request, [&](std::string_view bytes) { return splitter.feed(bytes, on_line); }));
  return {};
}

Status Client::pages(const std::string& target, const std::string& name,
                     const std::function<Status(const json&)>& on_entry) {
  std::string cursor;
  const char joint = target.find('?') == std::string::npos ? '?' : '&';
  do {
    const auto suffix = cursor.empty() ? "" : "&cursor=" + percent_encode(cursor);
    HARENA_TRY(const auto page, get(target + joint + "limit=1000" + suffix));
    for (const auto& entry : page.value(name, json::array())) HARENA_TRY_STATUS(on_entry(entry));
    cursor = text_or(page, "next_cursor");
  } while (!cursor.empty());
  return {};
}

std::string segment(std::string_view text) { return percent_encode(text); }

}  // namespace harena::client
