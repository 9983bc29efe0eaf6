#include "plugins/e2b/control/snapshot_calls.hpp"

#include "plugins/e2b/control/sandbox_store.hpp"

namespace harena::e2b {

using nlohmann::json;

AnswerTask fork_sandbox(ControlCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.body());
  Fields fields(body, call.services.counters, call.operation);
  HARENA_CO_TRY(const auto timeout, fields.integer("timeout"));
  HARENA_CO_TRY(const auto count, fields.integer("count"));
  HARENA_CO_TRY_STATUS(fields.boolean("memory"));
  fields.done();
  const auto copies = count.value_or(1);
  if (copies < 1 || copies > 100) {
    co_return make_error(ErrorCode::invalid_argument, "count is " + std::to_string(copies) + "; 1 to 100 are right");
  }
  HARENA_CO_TRY_STATUS(check_timeout(timeout.value_or(300), call.services.settings));
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto record, co_await store.living(call.param("id")));
  co_return make_error(ErrorCode::unimplemented, "the backend '" + record.backend + "' can't fork a sandbox yet (docs/e2b.md)");
}

AnswerTask snapshot_sandbox(ControlCall& call) {
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto record, co_await store.living(call.param("id")));
  co_return make_error(ErrorCode::unimplemented, "the backend '" + record.backend + "' can't make snapshots yet (docs/e2b.md)");
}

AnswerTask list_snapshots(ControlCall& call) {
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY_STATUS(co_await store.project());  // the key is checked
  co_return Answer{200, json::array()};
}

}  // namespace harena::e2b
