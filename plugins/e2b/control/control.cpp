#include "plugins/e2b/control/control.hpp"

#include <set>

#include "sdk/base/text.hpp"
#include "sdk/http/error.hpp"

namespace harena::e2b {

using http::Request;
using http::ResponseWriter;
using http::Task;
using nlohmann::json;

namespace {

constexpr std::size_t kMaxBodyBytes = 8 << 20;

/// X-API-KEY; some clients (the CLI) send the same as a bearer.
Result<std::string> key_of(const Request& request) {
  if (const auto key = request.header("X-API-KEY"); key && !key->empty()) return std::string(*key);
  constexpr std::string_view kBearer = "Bearer ";
  const auto authorization = request.header("Authorization").value_or("");
  if (authorization.size() > kBearer.size() && http::iequals(authorization.substr(0, kBearer.size()), kBearer)) {
    return std::string(authorization.substr(kBearer.size()));
  }
  return make_error(ErrorCode::unauthenticated, "a call must carry X-API-KEY with a key of this installation (harena e2b env --create-key)");
}

}  // namespace

Task<Result<json>> ControlCall::body() {
  HARENA_CO_TRY(const auto text, co_await request.read_all(kMaxBodyBytes));
  if (text.empty()) co_return json::object();
  auto document = json::parse(text, nullptr, false);
  if (document.is_null()) co_return json::object();
  if (document.is_object()) co_return document;
  co_return make_error(ErrorCode::invalid_argument, "the body must be a JSON object");
}

void Control::add(const char* method, const char* pattern, const char* operation, Handler handler) {
  auto run = [this, operation = std::string(operation), handler = std::move(handler)](
                 Request& request, ResponseWriter& response) -> Task<Status> {
    auto key = key_of(request);
    if (!key.ok()) {
      services_.counters.answered(operation, 401);
      co_return co_await send(response, refusal(key.error()));
    }
    ControlCall call{services_, request, *std::move(key), operation};
    auto answer = co_await handler(call);
    if (!answer.ok()) answer = refusal(answer.error());
    services_.counters.answered(operation, answer->status);
    co_return co_await send(response, *std::move(answer));
  };
  auto added = router_.add({method, pattern, {.operation_id = operation}, std::move(run)});
  if (!added.ok() && status_.ok()) status_ = std::move(added);
}

void Control::add_health() {
  auto health = [](Request&, ResponseWriter& response) -> Task<Status> {
    http::Headers headers;
    headers.add("Content-Type", "text/plain; charset=utf-8");
    co_return co_await response.send(200, std::move(headers), "Health check successful");
  };
  status_ = router_.add({"GET", "/health", {.operation_id = "health"}, std::move(health)});
}

/// What the router would answer is in Harena's shape.
void Control::add_other_methods() {
  std::set<std::string> patterns;
  for (const auto& route : router_.routes()) patterns.insert(route.pattern);
  for (const auto& pattern : patterns) {
    auto refuse = [this](Request& request, ResponseWriter& response) -> Task<Status> {
      services_.counters.answered("unknown_route", 405);
      co_return co_await send(response, refusal(405, request.method() + " isn't there for this path"));
    };
    auto added = router_.add({"*", pattern, {}, std::move(refuse)});
    if (!added.ok() && status_.ok()) status_ = std::move(added);
  }
}

Control::Control(Services& services) : services_(services) {
  add_health();
  add_sandboxes();
  add_templates();
  add_others();
  add_other_methods();
}

Task<Status> Control::serve(Request& request, ResponseWriter& response) {
  auto outcome = co_await router_.route(request, response);
  if (outcome.ok() || response.begun()) co_return outcome;
  services_.counters.answered("unknown_route", http::http_status(outcome.error().code));
  co_return co_await send(response, refusal(outcome.error()));
}

}  // namespace harena::e2b
