#include "plugins/e2b/warm/late_environment.hpp"

#include <algorithm>

#include "plugins/e2b/envd/refusal_reason.hpp"
#include "sdk/base/text.hpp"
#include "sdk/http/task.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

/// The code interpreter's, which both SDKs ask (docs/code-interpreter.md).
constexpr const char* kInterpreterRoute = "/ports/49999/environment";
constexpr std::chrono::seconds kInterpreterTime{5};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_name(const std::string& name) {
  if (name.empty() || !is_letter(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// Nothing listens there: a template without an interpreter.
bool is_port_closed(const http::FetchResponse& answer) {
  return answer.status == 502 && refusal_reason(answer.body) == "port_closed";
}

}  // namespace

bool fits_running(const Environment& env) {
  return std::all_of(env.begin(), env.end(), [](const auto& one) {
    return is_name(one.first) && one.second.find('\0') == std::string::npos && is_utf8(one.second);
  });
}

Task<bool> tell_interpreter(Services& services, std::string key, std::string id, const Environment& env) {
  frontend::ApiRequest request;
  request.method = "POST";
  request.target = "/v1/sandboxes/" + percent_encode(id) + kInterpreterRoute;
  request.token = std::move(key);
  request.headers.add("Content-Type", "application/json");
  const json body = {{"env_vars", env}};
  request.text = body.dump();
  const auto answer = co_await http::with_timeout(services.api.fetch(std::move(request)), kInterpreterTime, "the code interpreter's environment");
  co_return answer.ok() && (answer->status == 200 || is_port_closed(*answer));
}

}  // namespace harena::e2b
