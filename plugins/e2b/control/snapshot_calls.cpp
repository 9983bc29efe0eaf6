#include "plugins/e2b/control/snapshot_calls.hpp"

#include "plugins/e2b/control/sandbox_store.hpp"
#include "sdk/http/error.hpp"

namespace harena::e2b {

using nlohmann::json;

namespace {

constexpr std::int64_t kDefaultTimeout = 300;
constexpr std::int64_t kMaxForks = 100;
/// What a fork kept of its source: "memory" or "filesystem".
constexpr const char* kKeptHeader = "X-Harena-Kept";

struct ForkRequest {
  std::int64_t timeout_s = kDefaultTimeout;
  std::int64_t count = 1;
};

Result<ForkRequest> parse_fork(const json& body, ControlCall& call) {
  Fields fields(body, call.services.counters, call.operation);
  HARENA_TRY(const auto timeout, fields.integer("timeout"));
  HARENA_TRY(const auto count, fields.integer("count"));
  HARENA_TRY_STATUS(fields.boolean("memory"));  // what is kept is what the backend can; the answer says it
  fields.done();
  const ForkRequest request{timeout.value_or(kDefaultTimeout), count.value_or(1)};
  if (request.count < 1 || request.count > kMaxForks) {
    return make_error(ErrorCode::invalid_argument, "count is " + std::to_string(request.count) + "; 1 to 100 are right");
  }
  HARENA_TRY_STATUS(check_timeout(request.timeout_s, call.services.settings));
  return request;
}

/// One `SandboxForkResult`.
json fork_result(const json& line, const Services& services) {
  if (line.contains("sandbox")) {
    const auto record = record_from(line["sandbox"]);
    if (record.ok()) return {{"sandbox", sandbox_json(*record, services)}};
    return {{"error", refusal(record.error()).body}};
  }
  const auto error = http::parse_error(500, line.dump(-1, ' ', false, json::error_handler_t::replace));
  return {{"error", refusal(error).body}};
}

Error not_offered(const Record& record, const char* what) {
  return make_error(ErrorCode::unimplemented, "the backend '" + record.backend + "' can't " + what + " yet (docs/e2b.md)");
}

}  // namespace

AnswerTask fork_sandbox(ControlCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.body());
  HARENA_CO_TRY(const auto request, parse_fork(body, call));
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto record, co_await store.living(call.param("id")));
  json asked = {{"count", request.count}, {"lifetime_s", request.timeout_s}};
  auto forked = co_await store.ask("POST", "/v1/sandboxes/" + record.id + "/fork", std::move(asked));
  const bool absent = !forked.ok() && (forked.error().code == ErrorCode::unimplemented || forked.error().code == ErrorCode::invalid_argument);
  if (absent) co_return not_offered(record, "fork a sandbox");
  if (!forked.ok()) co_return std::move(forked).error();
  Answer answer{201, json::array()};
  for (const auto& line : forked->value("results", json::array())) answer.body.push_back(fork_result(line, call.services));
  answer.headers.set(kKeptHeader, forked->value("kept", ""));
  co_return answer;
}

AnswerTask snapshot_sandbox(ControlCall& call) {
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto record, co_await store.living(call.param("id")));
  co_return not_offered(record, "make snapshots");
}

AnswerTask list_snapshots(ControlCall& call) {
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY_STATUS(co_await store.project());  // the key is checked
  co_return Answer{200, json::array()};
}

}  // namespace harena::e2b
