// The start and ready commands of a template. E2B's are part of the template's snapshot; here they run in each new sandbox.
#include <chrono>

#include "plugins/e2b/control/sandbox_calls.hpp"
#include "plugins/e2b/control/sandbox_store.hpp"
#include "sdk/base/text.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

constexpr std::chrono::milliseconds kReadyPause{100};

std::string commands_of(const std::string& id) { return "/v1/sandboxes/" + percent_encode(id) + "/commands"; }

json command_of(const Template& from, const std::string& text) {
  json argv = {"/bin/sh", "-c", text};
  json body = {{"argv", std::move(argv)}, {"user", from.user}};
  if (!from.workdir.empty()) body["cwd"] = from.workdir;
  return body;
}

Error not_ready(const Template& from, const std::string& last) {
  return make_error(ErrorCode::deadline_exceeded, "template '" + from.id + "': its ready command hasn't ended with 0 in " +
                                                      std::to_string(from.ready_timeout_s) + " s; it said: " + last.substr(0, 500));
}

Task<Status> wait_until_ready(Services& services, std::string key, std::string id, const Template& from) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(from.ready_timeout_s);
  std::string last;
  do {
    HARENA_CO_TRY(auto answer, co_await ask_ready(services, key, id, from));
    if (answer.ready) co_return ok_status();
    last = std::move(answer.said);
    co_await http::sleep_for(kReadyPause);
  } while (std::chrono::steady_clock::now() < until);
  co_return not_ready(from, last);
}

}  // namespace

Task<Result<ReadyAnswer>> ask_ready(Services& services, std::string key, std::string id, const Template& from) {
  if (from.ready_command.empty()) co_return ReadyAnswer{true, ""};
  SandboxStore store(services, std::move(key));
  json body = command_of(from, from.ready_command);
  body["wait"] = true;
  body["timeout_ms"] = from.ready_timeout_s * 1000;
  HARENA_CO_TRY(const auto result, co_await store.ask("POST", commands_of(id), std::move(body)));
  co_return ReadyAnswer{result.at("exit").value("code", json(-1)) == 0, result.value("stderr", "")};
}

Task<Status> start_template(Services& services, std::string key, std::string id, const Template& from) {
  if (!from.start_command.empty()) {
    SandboxStore store(services, key);
    json body = command_of(from, from.start_command);
    body["op"] = "e2b-start";  // a create that is repeated doesn't start it twice
    HARENA_CO_TRY_STATUS(co_await store.ask("POST", commands_of(id), std::move(body)));
  }
  if (from.ready_command.empty()) co_return ok_status();
  co_return co_await wait_until_ready(services, std::move(key), std::move(id), from);
}

Task<Status> start_again(Services& services, std::string key, Record record, std::string kept) {
  const auto& extras = record.extras;
  const Template* from = services.settings.find_template(extras.origin.empty() ? extras.template_id : extras.origin);
  if (kept != "filesystem" || from == nullptr) co_return ok_status();
  auto started = co_await start_template(services, key, record.id, *from);
  if (started.ok()) co_return started;
  SandboxStore store(services, std::move(key));
  (void)co_await store.act(record.id, "stop");
  co_return started;
}

}  // namespace harena::e2b
