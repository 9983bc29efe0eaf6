#include "plugins/mcp/json_rpc.hpp"

namespace harena::mcp {

using nlohmann::json;

namespace {

ParsedMessage wrong(int code, std::string text) {
  ParsedMessage out;
  out.error = {code, std::move(text), nullptr};
  return out;
}

json parse_bounded(const std::string& body) {
  bool too_deep = false;
  const auto guard = [&](int depth, json::parse_event_t, json&) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  auto document = json::parse(body, guard, false);
  return too_deep ? json(json::value_t::discarded) : document;
}

}  // namespace

std::string Message::text(const char* name) const {
  const auto found = params.find(name);
  return found != params.end() && found->is_string() ? found->get<std::string>() : std::string();
}

json Message::meta() const {
  const auto found = params.find("_meta");
  return found != params.end() && found->is_object() ? *found : json::object();
}

ParsedMessage parse_message(const std::string& body) {
  const auto document = parse_bounded(body);
  if (document.is_discarded()) return wrong(kParseError, "the body isn't JSON");
  if (!document.is_object()) return wrong(kInvalidRequest, "the body must be one JSON-RPC message, an object");
  ParsedMessage out;
  auto& message = out.message;
  if (const auto id = document.find("id"); id != document.end()) {
    if (!id->is_string() && !id->is_number_integer()) return wrong(kInvalidRequest, "id must be a text or a whole number");
    message.id = *id;
  }
  const auto fail = [&](const char* text) {
    out.error = {kInvalidRequest, text, nullptr};
    return out;
  };
  if (document.value("jsonrpc", json()) != "2.0") return fail("jsonrpc must be \"2.0\"");
  if (const auto method = document.find("method"); method != document.end()) {
    if (!method->is_string() || method->get_ref<const std::string&>().empty()) return fail("method must be a text");
    message.method = method->get<std::string>();
  } else if (!document.contains("result") && !document.contains("error")) {
    return fail("method is missing");
  }
  if (const auto params = document.find("params"); params != document.end()) {
    if (!params->is_object()) return fail("params must be an object");
    message.params = *params;
  }
  out.ok = true;
  return out;
}

json result_document(const json& id, json result) { return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}; }

json error_document(const json& id, const RpcError& error) {
  json inner = {{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) inner["data"] = error.data;
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(inner)}};
}

std::string dump(const json& document) { return document.dump(-1, ' ', false, json::error_handler_t::replace); }

int status_of(int code) {
  if (code == kMethodNotFound) return 404;
  return code == kInternalError ? 200 : 400;
}

}  // namespace harena::mcp
