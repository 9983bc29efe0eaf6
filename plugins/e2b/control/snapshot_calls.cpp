#include "plugins/e2b/control/snapshot_calls.hpp"

#include "plugins/e2b/control/sandbox_store.hpp"
#include "sdk/base/text.hpp"
#include "sdk/http/error.hpp"

namespace harena::e2b {

using http::Task;
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
  HARENA_TRY(const auto timeout_s, read_timeout(fields, kDefaultTimeout, call.services.settings));
  HARENA_TRY(const auto count, fields.integer("count"));
  HARENA_TRY_STATUS(fields.boolean("memory"));  // what is kept is what the backend can; the answer says it
  fields.done();
  const ForkRequest request{timeout_s, count.value_or(1)};
  if (request.count < 1 || request.count > kMaxForks) {
    return make_error(ErrorCode::invalid_argument, "count is " + std::to_string(request.count) + "; 1 to 100 are right");
  }
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

/// `SnapshotInfo` of a snapshot of Harena's.
json snapshot_info(const json& snapshot) {
  const auto id = snapshot.value("id", "");
  const auto name = snapshot.value("name", "");
  json names = json::array();
  if (!name.empty() && name != id) names.push_back(name);  // without a name of its own it is called like its id
  return {{"snapshotID", id}, {"names", std::move(names)}};
}

}  // namespace

AnswerTask fork_sandbox(ControlCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.body());
  HARENA_CO_TRY(const auto request, parse_fork(body, call));
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto record, co_await store.living(call.param("id")));
  json asked = {{"count", request.count}, {"lifetime_s", request.timeout_s}};
  HARENA_CO_TRY(const auto forked, co_await store.ask("POST", "/v1/sandboxes/" + record.id + "/fork", std::move(asked)));
  Answer answer{201, json::array()};
  for (const auto& line : forked.value("results", json::array())) answer.body.push_back(fork_result(line, call.services));
  answer.headers.set(kKeptHeader, forked.value("kept", ""));
  co_return answer;
}

AnswerTask snapshot_sandbox(ControlCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.body());
  Fields fields(body, call.services.counters, call.operation);
  HARENA_CO_TRY(const auto name, fields.text("name"));
  fields.done();
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto record, co_await store.living(call.param("id")));
  json asked = json::object();
  if (name && !name->empty()) asked["name"] = plain_template_name(*name);
  HARENA_CO_TRY(const auto made, co_await store.ask("POST", "/v1/sandboxes/" + record.id + "/snapshots", std::move(asked)));
  Answer answer{201, snapshot_info(made)};
  answer.headers.set(kKeptHeader, made.value("kept", ""));
  co_return answer;
}

AnswerTask list_snapshots(ControlCall& call) {
  HARENA_CO_TRY(const auto query, call.request.query());
  HARENA_CO_TRY(const auto limit, parse_int(query.get("limit").value_or("100"), 1, 100, "limit"));
  std::string target = "/v1/snapshots?limit=" + std::to_string(limit);
  const auto pass_on = [&](const char* from, const char* to, bool is_name) {
    const std::string text(query.get(from).value_or(""));
    if (!text.empty()) target += std::string("&") + to + "=" + percent_encode(is_name ? plain_template_name(text) : text);
  };
  pass_on("sandboxID", "sandbox", false);
  pass_on("name", "name", true);
  pass_on("nextToken", "cursor", false);
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto page, co_await store.ask("GET", target));
  Answer answer{200, json::array()};
  for (const auto& one : page.value("snapshots", json::array())) answer.body.push_back(snapshot_info(one));
  const auto next = page.value("next_cursor", "");
  if (!next.empty()) answer.headers.set("X-Next-Token", next);
  co_return answer;
}

Task<Result<json>> find_snapshot(ControlCall& call, std::string name) {
  SandboxStore store(call.services, call.key);
  auto found = co_await store.ask("GET", "/v1/snapshots/" + percent_encode(plain_template_name(name)));
  const bool absent = !found.ok() && (found.error().code == ErrorCode::not_found || found.error().code == ErrorCode::invalid_argument);
  if (absent) co_return json();
  co_return found;
}

Task<Result<bool>> delete_snapshot(ControlCall& call, std::string name) {
  HARENA_CO_TRY(const auto found, co_await find_snapshot(call, std::move(name)));
  if (found.is_null()) co_return false;
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY_STATUS(co_await store.ask("DELETE", "/v1/snapshots/" + found.value("id", "")));
  co_return true;
}

}  // namespace harena::e2b
