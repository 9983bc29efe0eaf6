// Create, both forms.
#include "plugins/e2b/control/network_options.hpp"
#include "plugins/e2b/control/sandbox_calls.hpp"
#include "plugins/e2b/control/sandbox_store.hpp"
#include "plugins/e2b/control/snapshot_calls.hpp"
#include "plugins/e2b/warm/late_environment.hpp"
#include "plugins/e2b/warm/warm_pools.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

Answer refused_template(const std::string& name, const Settings& settings) {
  std::string known;
  for (const auto& one : settings.templates) known += (known.empty() ? "" : ", ") + one.id;
  return refusal(404, "template '" + name.substr(0, 128) + "' not found; this installation has: " + known);
}

/// Told where a caller who counts on an open network looks first.
void tell_of_network(const Extras& extras, Answer& answer) {
  const bool closes_it = extras.allow_internet_access == false;
  if (!closes_it) answer.headers.set(kNetworkHeader, kNetworkNotice);
}

Task<Status> begin(ControlCall& call, const Record& record, const Template& from) {
  auto started = co_await start_template(call.services, call.key, record.id, from);
  if (started.ok()) co_return started;
  SandboxStore store(call.services, call.key);
  (void)co_await store.act(record.id, "stop");
  co_return started;
}

std::string idempotency_of(const ControlCall& call) {
  return std::string(call.request.header("Idempotency-Key").value_or(""));
}

/// The caller named a template and never an image: the one that is missing is told as the template's.
Error of_template(Error error, const Template& from) {
  if (error.code != ErrorCode::not_found) return error;
  error.message = "template '" + from.id + "' can't be made: " + error.message;
  for (const char* made_here : {"base", "code-interpreter"}) {
    const bool missing = from.image == std::string("root/") + made_here + ":v1" && error.message.find(from.image) != std::string::npos;
    if (missing) error.message += "; `harena image build " + std::string(made_here) + "` makes it";
  }
  return error;
}

Task<Result<Record>> create_from_template(ControlCall& call, const CreateRequest& request, const Template& from) {
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto project, co_await store.project());
  auto key = idempotency_of(call);
  // A repetition under a key must find the sandbox of the first.
  if (key.empty() && fits_running(request.env)) {
    auto ready = co_await call.services.warm->claim(from, request, call.key);
    if (ready) co_return *std::move(ready);
  }
  auto body = core_create_body(request, from, project);
  auto record = co_await store.create(from.backend, std::move(body), std::move(key));
  if (!record.ok()) co_return of_template(std::move(record).error(), from);
  HARENA_CO_TRY_STATUS(co_await begin(call, *record, from));
  co_return std::move(record);
}

/// A snapshot's annotation is its source's: what of it stays is known once there is a sandbox that has it.
Task<Result<Record>> create_from_snapshot(ControlCall& call, const CreateRequest& request, const json& snapshot) {
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto project, co_await store.project());
  const auto id = snapshot.value("id", "");
  auto body = core_create_body(request, id, project);
  auto key = idempotency_of(call);
  HARENA_CO_TRY(const auto made, co_await store.create(snapshot.value("backend", "container"), std::move(body), std::move(key)));
  json annotations = {{kAnnotation, annotation_of(extras_over(made.extras, request, id))}};
  json changes = {{"annotations", std::move(annotations)}};
  HARENA_CO_TRY(auto record, co_await store.update(made.id, std::move(changes)));
  HARENA_CO_TRY_STATUS(co_await start_again(call.services, call.key, record, snapshot.value("kept", "")));
  co_return record;
}

constexpr const char* kFindGateway = "command -v mcp-gateway";

/// The SDK starts the gateway by itself, and where there is none it fails in words that name nothing.
Task<Status> check_gateway(ControlCall& call, const Record& record) {
  SandboxStore store(call.services, call.key);
  json argv = {"/bin/bash", "-l", "-c", kFindGateway};
  json body = {{"argv", std::move(argv)}, {"user", "root"}, {"wait", true}};
  const auto found = co_await store.ask("POST", "/v1/sandboxes/" + record.id + "/commands", std::move(body));
  if (found.ok() && found->at("exit").value("code", json(-1)) == 0) co_return ok_status();
  (void)co_await store.act(record.id, "stop");
  if (!found.ok() && found.error().code != ErrorCode::not_found) co_return found.error();
  co_return make_error(ErrorCode::invalid_argument, "mcp can't be honoured: the template '" + record.extras.template_id +
                                                        "' has no program mcp-gateway, which E2B's SDK starts (docs/e2b.md)");
}

AnswerTask create(ControlCall& call, CreateForm form) {
  auto& services = call.services;
  HARENA_CO_TRY(const auto body, co_await call.body());
  HARENA_CO_TRY(const auto request, parse_create(body, form, services.settings, services.counters));
  Result<Record> record = no_such_sandbox("");
  if (const Template* from = services.settings.find_template(request.template_name)) {
    record = co_await create_from_template(call, request, *from);
  } else {
    HARENA_CO_TRY(const auto snapshot, co_await find_snapshot(call, request.template_name));
    if (snapshot.is_null()) co_return refused_template(request.template_name, services.settings);
    record = co_await create_from_snapshot(call, request, snapshot);
  }
  if (!record.ok()) co_return std::move(record).error();
  if (request.wants_mcp_gateway) HARENA_CO_TRY_STATUS(co_await check_gateway(call, *record));
  Answer answer{201, sandbox_json(*record, services)};
  tell_of_network(record->extras, answer);
  co_return answer;
}

}  // namespace

AnswerTask create_sandbox_v2(ControlCall& call) { return create(call, CreateForm::v2); }
AnswerTask create_sandbox_legacy(ControlCall& call) { return create(call, CreateForm::legacy); }

}  // namespace harena::e2b
