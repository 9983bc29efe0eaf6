// create, list, kill.
#include "plugins/mcp/tools/tool.hpp"
#include "sdk/base/text.hpp"

namespace harena::mcp {

using http::Task;
using nlohmann::json;

namespace {

constexpr const char* kPluginId = "dev.harena.mcp";

json create_body(const ToolCall& call, const std::string& project) {
  json params = json::object();
  for (const char* name : {"cpu", "memory", "disk", "env"}) {
    if (call.has(name)) params[name] = call.arguments[name];
  }
  json labels = call.has("labels") ? call.arguments["labels"] : json::object();
  labels["frontend"] = kPluginId;
  return {{"image", call.has("image") ? call.text("image") : call.settings.image},
          {"project", call.has("project") ? call.text("project") : project},
          {"labels", std::move(labels)},
          {"lifetime_s", call.has("lifetime_s") ? call.arguments["lifetime_s"] : json(call.settings.lifetime_s)},
          {"idle_ttl_s", call.settings.idle_s},
          {"params", std::move(params)}};
}

json seen(const json& sandbox) {
  return {{"sandbox_id", sandbox.at("id")}, {"state", sandbox.at("state")},   {"image", sandbox.at("image")},
          {"backend", sandbox.at("backend")}, {"labels", sandbox.at("labels")}, {"created_ms", sandbox.at("created_ms")},
          {"expires_ms", sandbox.at("expires_ms")}};
}

ToolTask list_sandboxes(ToolCall& call) {
  std::string target = "/v1/sandboxes?state=creating,running,pausing,paused,resuming";
  target += "&limit=" + std::to_string(call.arguments["limit"].get<int>());
  if (call.has("cursor")) target += "&cursor=" + percent_encode(call.text("cursor"));
  HARENA_CO_TRY(const auto page, co_await call.ask("GET", std::move(target)));
  json list = json::array();
  for (const auto& sandbox : page.value("sandboxes", json::array())) list.push_back(seen(sandbox));
  json answer = {{"sandboxes", std::move(list)}, {"next_cursor", page.value("next_cursor", "")}};
  co_return answer_of(std::move(answer));
}

ToolTask list_files(ToolCall& call) {
  std::string target = call.sandbox("/files/list?path=" + percent_encode(call.has("path") ? call.text("path") : "/"));
  target += "&limit=" + std::to_string(call.arguments["limit"].get<int>());
  if (call.arguments.value("recursive", false)) target += "&recursive=true";
  if (call.has("cursor")) target += "&cursor=" + percent_encode(call.text("cursor"));
  HARENA_CO_TRY(const auto page, co_await call.ask("GET", std::move(target)));
  json answer = {{"entries", page.value("entries", json::array())}, {"next_cursor", page.value("next_cursor", "")}};
  co_return answer_of(std::move(answer));
}

}  // namespace

ToolTask create_sandbox(ToolCall& call) {
  HARENA_CO_TRY(const auto caller, co_await call.ask("GET", "/v1/whoami"));
  json body = create_body(call, caller.value("project", "root"));
  std::string target = "/v1/backends/" + percent_encode(call.text("backend")) + "/sandboxes";
  HARENA_CO_TRY(const auto sandbox, co_await call.ask("POST", std::move(target), std::move(body)));
  if (call.under_way.cancelled()) {
    const json none = json::object();
    (void)co_await call.ask("POST", "/v1/sandboxes/" + percent_encode(sandbox.at("id").get<std::string>()) + "/stop", none);
    co_return make_error(ErrorCode::cancelled, "the call was cancelled; its sandbox was ended");
  }
  co_return answer_of(seen(sandbox));
}

ToolTask list_things(ToolCall& call) {
  if (call.has("sandbox_id")) co_return co_await list_files(call);
  if (call.has("path") || call.has("recursive")) {
    co_return make_error(ErrorCode::invalid_argument, "path and recursive are for the files of a sandbox; sandbox_id is missing");
  }
  co_return co_await list_sandboxes(call);
}

ToolTask kill_sandbox(ToolCall& call) {
  const json none = json::object();
  HARENA_CO_TRY(const auto sandbox, co_await call.ask("POST", call.sandbox("/stop"), none));
  json answer = {{"sandbox_id", sandbox.at("id")}, {"state", sandbox.at("state")}};
  co_return answer_of(std::move(answer));
}

}  // namespace harena::mcp
