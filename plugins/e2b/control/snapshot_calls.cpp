#include "plugins/e2b/control/snapshot_calls.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <exception>
#include <vector>

#include "plugins/e2b/control/sandbox_calls.hpp"
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

/// One `SandboxForkResult`, once what the template starts runs in it.
Task<void> settle_fork(ControlCall& call, json line, std::string kept, json& result) {
  auto record = record_from(line.value("sandbox", json::object()));
  if (!line.contains("sandbox")) record = http::parse_error(500, line.dump(-1, ' ', false, json::error_handler_t::replace));
  auto settled = ok_status();
  if (record.ok()) settled = co_await start_again(call.services, call.key, *record, std::move(kept));
  else settled = record.error();
  if (settled.ok()) result["sandbox"] = sandbox_json(*record, call.services);
  else result["error"] = refusal(settled.error()).body;
}

/// All at once: what is started in each takes its time.
Task<json> settle_forks(ControlCall& call, json lines, std::string kept) {
  namespace asio = boost::asio;
  json results = json::array();
  for (std::size_t i = 0; i < lines.size(); ++i) results.push_back(json::object());
  const auto executor = co_await asio::this_coro::executor;
  using Spawned = decltype(asio::co_spawn(executor, settle_fork(call, json(), "", results), asio::deferred));
  std::vector<Spawned> all;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    all.push_back(asio::co_spawn(executor, settle_fork(call, std::move(lines[i]), kept, results[i]), asio::deferred));
  }
  if (all.empty()) co_return results;
  auto group = asio::experimental::make_parallel_group(std::move(all));
  auto [order, failures] = co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  co_return results;
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
  const auto kept = forked.value("kept", "");
  auto lines = forked.value("results", json::array());
  auto results = co_await settle_forks(call, std::move(lines), kept);
  Answer answer{201, std::move(results)};
  answer.headers.set(kKeptHeader, kept);
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
