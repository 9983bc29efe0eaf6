#include "plugins/e2b/warm/warm_pool.hpp"

#include <algorithm>
#include <fstream>

#include "plugins/e2b/control/sandbox_calls.hpp"
#include "plugins/e2b/warm/late_environment.hpp"
#include "sdk/base/text.hpp"
#include "sdk/digest/sha256.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

constexpr const char* kStateLabel = "e2b-pool";  ///< "starting", "ready", "retired"
constexpr const char* kPoolLabel = "e2b-pool-of";

std::string target_of(const std::string& id) { return "/v1/sandboxes/" + percent_encode(id); }

/// Another configuration of a template is another pool: nobody gets what was made of the old one.
std::string pool_name(const Template& from) {
  json shape = core_create_body(CreateRequest{}, from, "");
  shape["start"] = {from.start_command, from.ready_command, from.user, from.workdir};
  return sha256_hex(shape.dump(-1, ' ', false, json::error_handler_t::replace)).substr(0, 32);
}

/// The sandbox has ended, or another claim has it.
bool is_lost(const Error& error) {
  return error.code == ErrorCode::not_found || error.code == ErrorCode::failed_precondition || error.code == ErrorCode::aborted;
}

json labels_of(const char* state, const std::string& pool, const std::string& template_id) {
  return {{kStateLabel, state}, {kPoolLabel, pool}, {kTemplateLabel, template_id}};
}

}  // namespace

WarmPool::WarmPool(Services& services, const Template& from) : services_(services), from_(from), name_(pool_name(from)) {}

Status WarmPool::read_token() {
  const auto& path = services_.settings.warm_token_file;
  std::ifstream file(path);
  std::string word;
  if (!(file >> word)) return make_error(ErrorCode::failed_precondition, "warm_token_file '" + path + "' can't be read or is empty");
  std::lock_guard lock(token_mutex_);
  token_ = std::move(word);
  return ok_status();
}

std::string WarmPool::token() const {
  std::lock_guard lock(token_mutex_);
  return token_;
}

json WarmPool::member_body(const std::string& project) const {
  CreateRequest plain;
  plain.template_name = from_.id;
  plain.timeout_s = kWarmLeaseSeconds + from_.ready_timeout_s;
  json body = core_create_body(plain, from_, project);
  body.erase("annotations");
  body["labels"] = labels_of("starting", name_, from_.id);
  return body;
}

Task<Result<json>> WarmPool::change(std::string id, json changes) {
  SandboxStore store(services_, token());
  co_return co_await store.ask("PATCH", target_of(id), std::move(changes));
}

Task<std::optional<Record>> WarmPool::claim(CreateRequest request, std::string caller) {
  request.extras.started_ms = services_.clock.wall_ms();
  request.extras.env = request.env;
  json changes = lifetime_fields(request.timeout_s, request.auto_pause, request.auto_resume);
  json as_created = core_create_body(request, from_, "");
  changes["labels"] = as_created["labels"];
  changes["annotations"] = as_created["annotations"];
  changes["if_labels"] = labels_of("ready", name_, from_.id);
  changes["give_to"] = caller;
  while (auto id = shelf_.take()) {
    auto sandbox = co_await change(*id, changes);
    tell();
    if (!sandbox.ok() && is_lost(sandbox.error())) continue;
    services_.counters.warm(from_.id, sandbox.ok() ? "claimed" : "refused");
    if (!sandbox.ok()) {
      shelf_.put(*id);
      tell();
      co_return std::nullopt;
    }
    auto record = record_from(*sandbox);
    if (!record.ok()) continue;
    const bool told = request.env.empty() || co_await tell_interpreter(services_, caller, *id, request.env);
    if (told) co_return *std::move(record);
    // Half given to the caller, it isn't what he asked for: a new one is made instead.
    SandboxStore store(services_, caller);
    (void)co_await store.act(*id, "stop");
    break;
  }
  services_.counters.warm(from_.id, "missed");
  co_return std::nullopt;
}

Task<Status> WarmPool::round(std::function<bool()> stopping) {
  HARENA_CO_TRY_STATUS(read_token());
  const auto began = shelf_.taken();
  HARENA_CO_TRY(const auto ready, co_await look_after_members());
  shelf_.replace(ready, began);
  tell();
  while (!is_full() && !stopping()) {
    auto added = co_await add_one();
    services_.counters.warm(from_.id, added.ok() ? "made" : "failed");
    HARENA_CO_TRY_STATUS(std::move(added));
    tell();
  }
  co_return ok_status();
}

/// Those that are ready, without those over the number that the pool has.
Task<Result<std::vector<std::string>>> WarmPool::look_after_members() {
  SandboxStore store(services_, token());
  const std::string target = "/v1/sandboxes?limit=1000&state=running&label=" + percent_encode(std::string(kPoolLabel) + "=" + name_) +
                             "&label=" + percent_encode(std::string(kStateLabel) + "=ready");
  HARENA_CO_TRY(const auto page, co_await store.ask("GET", target));
  std::vector<std::string> ready;
  for (const auto& member : page.value("sandboxes", json::array())) {
    const auto id = member.at("id").get<std::string>();
    if (ready.size() >= from_.warm) {
      co_await retire(id);  // all replicas see them in the same order, by their ids
    } else if (co_await look_after(member)) {
      ready.push_back(id);
    }
  }
  co_return ready;
}

/// False: nobody should get this one.
Task<bool> WarmPool::look_after(json member) {
  const auto id = member.at("id").get<std::string>();
  const auto left_ms = member.value("expires_ms", std::int64_t{0}) - services_.clock.wall_ms();
  if (left_ms > kWarmLeaseSeconds * 1000 * 2 / 3) co_return true;
  const auto answer = co_await ask_ready(services_, token(), id, from_);
  if (!answer.ok()) co_return !is_lost(answer.error());
  if (!answer->ready) {
    services_.counters.warm(from_.id, "unwell");
    co_await retire(id);
    co_return false;
  }
  json changes = {{"lifetime_at_least_s", kWarmLeaseSeconds}};
  changes["if_labels"] = labels_of("ready", name_, from_.id);
  const auto prolonged = co_await change(id, std::move(changes));
  co_return prolonged.ok() || !is_lost(prolonged.error());
}

Task<Status> WarmPool::add_one() {
  SandboxStore store(services_, token());
  HARENA_CO_TRY(const auto project, co_await store.project());
  json body = member_body(project);
  const std::string target = "/v1/backends/" + percent_encode(from_.backend) + "/sandboxes";
  HARENA_CO_TRY(const auto sandbox, co_await store.ask("POST", target, std::move(body)));
  const auto id = sandbox.at("id").get<std::string>();
  auto ready = co_await make_ready(id);
  if (ready.ok()) {
    shelf_.put(id);
  } else {
    const json none = json::object();
    (void)co_await store.ask("POST", target_of(id) + "/stop", none);
  }
  co_return ready;
}

Task<Status> WarmPool::make_ready(std::string id) {
  HARENA_CO_TRY_STATUS(co_await start_template(services_, token(), id, from_));
  json changes = {{"lifetime_s", kWarmLeaseSeconds}};
  changes["if_labels"] = labels_of("starting", name_, from_.id);
  changes["labels"] = labels_of("ready", name_, from_.id);
  HARENA_CO_TRY_STATUS(co_await change(id, std::move(changes)));
  co_return ok_status();
}

Task<void> WarmPool::retire(std::string id) {
  json changes = {{"labels", labels_of("retired", name_, from_.id)}};
  changes["if_labels"] = labels_of("ready", name_, from_.id);
  const auto mine = co_await change(id, std::move(changes));
  if (!mine.ok()) co_return;
  SandboxStore store(services_, token());
  const json none = json::object();
  (void)co_await store.ask("POST", target_of(id) + "/stop", none);
}

}  // namespace harena::e2b
