#include "plugins/e2b/control/sandbox_calls.hpp"

#include <algorithm>

#include "plugins/e2b/control/sandbox_store.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

constexpr std::int64_t kDefaultConnect = 300;
constexpr std::int64_t kDefaultResume = 15;
constexpr std::int64_t kDefaultRefresh = 15;
constexpr std::int64_t kMaxRefresh = 3600;

Error bad_call(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

Answer done() { return {204, nullptr}; }

/// `memory: false` asks for a sandbox without its processes: a container's pause can't do that.
Status check_memory(const std::optional<bool>& memory) {
  if (memory.value_or(true)) return ok_status();
  return bad_call("memory: false can't be honoured here: a pause keeps memory and processes, and a resume goes on with them (docs/e2b.md)");
}

/// Brings it to life for `timeout_s` from now, or longer if it has longer already.
AnswerTask connect(ControlCall& call, std::int64_t timeout_s) {
  SandboxStore store(call.services, call.key);
  const auto id = call.param("id");
  HARENA_CO_TRY(const auto before, co_await store.living(id));
  json extended = {{"lifetime_at_least_s", timeout_s}};
  HARENA_CO_TRY(auto record, co_await store.update(id, std::move(extended)));
  if (!record.is_paused()) co_return Answer{200, sandbox_json(record, call.services)};
  HARENA_CO_TRY(record, co_await store.act(id, "resume"));
  co_return Answer{201, sandbox_json(record, call.services)};
}

}  // namespace

AnswerTask sandbox_info(ControlCall& call) {
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto record, co_await store.living(call.param("id")));
  co_return Answer{200, detail_json(record, call.services)};
}

AnswerTask kill_sandbox(ControlCall& call) {
  SandboxStore store(call.services, call.key);
  const auto id = call.param("id");
  HARENA_CO_TRY_STATUS(co_await store.living(id));
  HARENA_CO_TRY_STATUS(co_await store.act(id, "stop"));
  co_return done();
}

AnswerTask connect_sandbox_v2(ControlCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.body());
  Fields fields(body, call.services.counters, call.operation);
  HARENA_CO_TRY(const auto seconds, read_timeout(fields, kDefaultConnect, call.services.settings));
  HARENA_CO_TRY(const auto memory, fields.boolean("memory"));
  fields.done();
  HARENA_CO_TRY_STATUS(check_memory(memory));
  co_return co_await connect(call, seconds);
}

AnswerTask connect_sandbox_legacy(ControlCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.body());
  Fields fields(body, call.services.counters, call.operation);
  HARENA_CO_TRY(const auto seconds, read_timeout(fields, std::nullopt, call.services.settings));
  fields.done();
  co_return co_await connect(call, seconds);
}

AnswerTask resume_sandbox(ControlCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.body());
  Fields fields(body, call.services.counters, call.operation);
  HARENA_CO_TRY(const auto seconds, read_timeout(fields, kDefaultResume, call.services.settings));
  HARENA_CO_TRY(const auto auto_pause, fields.boolean("autoPause"));
  fields.done();
  SandboxStore store(call.services, call.key);
  const auto id = call.param("id");
  HARENA_CO_TRY(const auto before, co_await store.living(id));
  if (!before.is_paused()) co_return refusal(409, "sandbox \"" + id + "\" is running already");
  json changes = {{"lifetime_s", seconds}};
  if (auto_pause) changes["lifetime_action"] = *auto_pause ? "pause" : "stop";
  HARENA_CO_TRY_STATUS(co_await store.update(id, std::move(changes)));
  HARENA_CO_TRY(const auto record, co_await store.act(id, "resume"));
  co_return Answer{201, sandbox_json(record, call.services)};
}

AnswerTask pause_sandbox(ControlCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.body());
  Fields fields(body, call.services.counters, call.operation);
  HARENA_CO_TRY(const auto memory, fields.boolean("memory"));
  fields.done();
  HARENA_CO_TRY_STATUS(check_memory(memory));
  SandboxStore store(call.services, call.key);
  const auto id = call.param("id");
  HARENA_CO_TRY(const auto before, co_await store.living(id));
  if (before.is_paused()) co_return refusal(409, "sandbox \"" + id + "\" is paused already");
  HARENA_CO_TRY_STATUS(co_await store.act(id, "pause"));
  co_return done();
}

AnswerTask set_sandbox_timeout(ControlCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.body());
  Fields fields(body, call.services.counters, call.operation);
  HARENA_CO_TRY(const auto timeout, fields.integer("timeout"));
  fields.done();
  if (!timeout) co_return bad_call("timeout is missing; a whole number of seconds is right");
  // 0 is "now"; in Harena it would be "never", and a second is the shortest that it has.
  if (*timeout != 0) HARENA_CO_TRY_STATUS(check_timeout(*timeout, call.services.settings));
  SandboxStore store(call.services, call.key);
  const auto id = call.param("id");
  HARENA_CO_TRY(const auto before, co_await store.living(id));
  if (before.is_paused()) co_return refusal(404, "sandbox \"" + id + "\" is paused; a timeout is given with connect");
  json changes = {{"lifetime_s", std::max<std::int64_t>(1, *timeout)}};
  HARENA_CO_TRY_STATUS(co_await store.update(id, std::move(changes)));
  co_return done();
}

AnswerTask refresh_sandbox(ControlCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.body());
  Fields fields(body, call.services.counters, call.operation);
  HARENA_CO_TRY(const auto duration, fields.integer("duration"));
  fields.done();
  const auto seconds = duration.value_or(kDefaultRefresh);
  if (seconds < 0 || seconds > kMaxRefresh) {
    co_return bad_call("duration is " + std::to_string(seconds) + "; 0 to 3600 seconds are right");
  }
  SandboxStore store(call.services, call.key);
  const auto id = call.param("id");
  HARENA_CO_TRY_STATUS(co_await store.living(id));
  json changes = {{"lifetime_at_least_s", std::max<std::int64_t>(1, seconds)}};
  HARENA_CO_TRY_STATUS(co_await store.update(id, std::move(changes)));
  co_return done();
}

AnswerTask update_sandbox_network(ControlCall& call) {
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY_STATUS(co_await store.living(call.param("id")));
  co_return bad_call("a network update can't be honoured here: the network of a sandbox is closed and stays so (docs/e2b.md)");
}

}  // namespace harena::e2b
