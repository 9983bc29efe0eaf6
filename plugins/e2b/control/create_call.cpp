// Create, both forms.
#include "plugins/e2b/control/network_options.hpp"
#include "plugins/e2b/control/sandbox_calls.hpp"
#include "plugins/e2b/control/sandbox_store.hpp"

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
  auto started = co_await start_template(call, record, from);
  if (started.ok()) co_return started;
  SandboxStore store(call.services, call.key);
  (void)co_await store.act(record.id, "stop");
  co_return started;
}

AnswerTask create(ControlCall& call, CreateForm form) {
  auto& services = call.services;
  HARENA_CO_TRY(const auto body, co_await call.body());
  HARENA_CO_TRY(const auto request, parse_create(body, form, services.settings, services.counters));
  const Template* from = services.settings.find_template(request.template_name);
  if (from == nullptr) co_return refused_template(request.template_name, services.settings);
  SandboxStore store(services, call.key);
  HARENA_CO_TRY(const auto project, co_await store.project());
  std::string idempotency(call.request.header("Idempotency-Key").value_or(""));
  auto core_body = core_create_body(request, *from, project);
  HARENA_CO_TRY(const auto record, co_await store.create(from->backend, std::move(core_body), std::move(idempotency)));
  HARENA_CO_TRY_STATUS(co_await begin(call, record, *from));
  Answer answer{201, sandbox_json(record, services)};
  tell_of_network(record.extras, answer);
  co_return answer;
}

}  // namespace

AnswerTask create_sandbox_v2(ControlCall& call) { return create(call, CreateForm::v2); }
AnswerTask create_sandbox_legacy(ControlCall& call) { return create(call, CreateForm::legacy); }

}  // namespace harena::e2b
