#include "plugins/mcp/methods.hpp"

#include "plugins/mcp/envelope.hpp"

namespace harena::mcp {

using http::Task;
using nlohmann::json;

namespace {

constexpr const char* kServerInfoKey = "io.modelcontextprotocol/serverInfo";
constexpr const char* kInstructions =
    "Isolated Linux sandboxes. create makes one and answers its sandbox_id; run runs a command in it; read, write and list are for its "
    "files; kill ends it. list without a sandbox_id shows those that live.";

json server_info() { return {{"name", "harena"}, {"title", "Harena sandboxes"}, {"version", HARENA_PLUGIN_VERSION}}; }

json capabilities() {
  json tools = {{"listChanged", false}};
  return {{"tools", std::move(tools)}};
}

MethodAnswer failed(int code, std::string text) {
  MethodAnswer out;
  out.error = RpcError{code, std::move(text), nullptr};
  return out;
}

/// What the revision wants beside the result itself.
MethodAnswer done(const Caller& caller, json result, bool is_cacheable) {
  if (caller.is_modern) {
    result["resultType"] = "complete";
    result["_meta"] = {{kServerInfoKey, server_info()}};
    if (is_cacheable) result.update({{"ttlMs", 60'000}, {"cacheScope", "public"}});
  }
  MethodAnswer out;
  out.result = std::move(result);
  return out;
}

std::string key_of(const Caller& caller, const json& id) { return caller.session + " " + id.dump(); }

MethodAnswer answer_of_tool(const Caller& caller, ToolAnswer answer) {
  json result = {{"content", std::move(answer.content)}, {"isError", answer.is_error}};
  if (!answer.structured.is_null()) result["structuredContent"] = std::move(answer.structured);
  return done(caller, std::move(result), false);
}

Task<Result<ToolAnswer>> run_tool(Services& services, const Caller& caller, const Tool& tool, const Message& message,
                                  CallUnderWay& under_way, EventStream& stream) {
  const auto given = message.params.find("arguments");
  json arguments = given == message.params.end() || given->is_null() ? json::object() : *given;
  HARENA_CO_TRY(auto valid, tool.arguments.apply(std::move(arguments), "arguments"));
  ToolCall call{services.api, services.settings, caller.token, std::move(valid), stream, under_way, caller.is_modern};
  co_return co_await tool.run(call);
}

std::string outcome_of(const Result<ToolAnswer>& answer) {
  if (!answer.ok()) return std::string(to_string(answer.error().code));
  return answer->is_error ? "failed" : "ok";
}

Task<MethodAnswer> call_tool(Services& services, const Caller& caller, const Message& message, EventStream& stream) {
  const auto name = message.text("name");
  const Tool* tool = services.catalog.find(name);
  if (tool == nullptr) {
    co_return failed(kInvalidParams, "there is no tool '" + name.substr(0, 128) + "'; there are: " + services.catalog.names());
  }
  CallsUnderWay::Entry entry(services.calls, key_of(caller, message.id));
  auto answer = co_await run_tool(services, caller, *tool, message, entry.call(), stream);
  services.counters.tool(name, outcome_of(answer));
  MethodAnswer out;
  if (entry.call().cancelled()) {
    out.is_cancelled = true;
  } else if (answer.ok()) {
    out = answer_of_tool(caller, *std::move(answer));
  } else if (answer.error().code == ErrorCode::unauthenticated) {
    out.is_unauthenticated = true;
  } else {
    out = answer_of_tool(caller, error_answer(answer.error()));
  }
  co_return out;
}

json discover_result() {
  return {{"supportedVersions", all_revisions()}, {"capabilities", capabilities()}, {"instructions", kInstructions}};
}

}  // namespace

json initialize_result(const std::string& revision) {
  return {{"protocolVersion", revision}, {"capabilities", capabilities()}, {"serverInfo", server_info()}, {"instructions", kInstructions}};
}

Task<MethodAnswer> run_method(Services& services, const Caller& caller, const Message& message, EventStream& stream) {
  const auto& method = message.method;
  if (method == "tools/call") co_return co_await call_tool(services, caller, message, stream);
  if (method == "tools/list") {
    if (message.params.contains("cursor")) co_return failed(kInvalidParams, "cursor isn't one of this server's: all tools come at once");
    json result = {{"tools", services.catalog.listing()}};
    co_return done(caller, std::move(result), true);
  }
  if (method == "ping" && !caller.is_modern) co_return done(caller, json::object(), false);
  if (method == "server/discover" && caller.is_modern) co_return done(caller, discover_result(), true);
  co_return failed(kMethodNotFound, "there is no method '" + method.substr(0, 128) + "' here");
}

Task<void> take_notification(Services& services, const Caller& caller, const Message& message) {
  if (message.method != "notifications/cancelled" || caller.is_modern || !message.params.contains("requestId")) co_return;
  const auto call = services.calls.find(key_of(caller, message.params["requestId"]));
  if (!call) co_return;
  const auto undo = call->cancel();
  if (!undo.empty()) (void)co_await services.api.ask("DELETE", undo, caller.token);
}

}  // namespace harena::mcp
