#include "plugins/mcp/envelope.hpp"

#include <algorithm>

#include "sdk/base/text.hpp"

namespace harena::mcp {

using nlohmann::json;

namespace {

constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/// The parameter that the header Mcp-Name repeats.
const char* name_parameter(const std::string& method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  return method == "resources/read" ? "uri" : nullptr;
}

RpcError mismatch(std::string text) { return {kHeaderMismatch, std::move(text), nullptr}; }

std::optional<RpcError> check_meta(const json& meta) {
  for (const char* key : {kVersionKey, kCapabilitiesKey}) {
    if (!meta.contains(key)) return RpcError{kInvalidParams, std::string("params._meta must have '") + key + "'", nullptr};
  }
  if (meta[kVersionKey].is_string()) return std::nullopt;
  return RpcError{kInvalidParams, std::string("params._meta's '") + kVersionKey + "' must be a text", nullptr};
}

std::optional<RpcError> check_headers(const http::Headers& headers, const Message& message, const std::string& version) {
  for (const char* name : {kVersionHeader, "Mcp-Method", "Mcp-Name"}) {
    if (headers.count(name) > 1) return mismatch(std::string("the header ") + name + " is there more than once");
  }
  if (headers.get(kVersionHeader) != version) {
    return mismatch("the header MCP-Protocol-Version doesn't say what params._meta says, '" + version + "'");
  }
  if (headers.get("Mcp-Method") != message.method) {
    return mismatch("the header Mcp-Method doesn't say the body's method, '" + message.method + "'");
  }
  const char* parameter = name_parameter(message.method);
  if (parameter == nullptr || !message.params.contains(parameter)) return std::nullopt;
  const auto named = decode_header(headers.get("Mcp-Name").value_or(""));
  if (named && *named == message.text(parameter)) return std::nullopt;
  const auto shown = message.text(parameter).substr(0, 128);
  return mismatch(std::string("the header Mcp-Name doesn't say the body's ") + parameter + ", '" + shown + "'");
}

}  // namespace

bool is_handshake_revision(std::string_view revision) {
  return std::find(kHandshakeRevisions.begin(), kHandshakeRevisions.end(), revision) != kHandshakeRevisions.end();
}

json all_revisions() {
  json all = json::array();
  for (const auto one : kHandshakeRevisions) all.push_back(one);
  all.push_back(kModernRevision);
  return all;
}

bool is_modern(const http::Headers& headers, const Message& message) {
  if (message.method == "initialize") return false;
  const auto said = headers.get(kVersionHeader);
  // Dates: what is later than the last revision with a handshake has none, whether it is known here or not.
  return (said && *said > kHandshakeRevisions.back()) || message.meta().contains(kVersionKey);
}

std::optional<RpcError> check_modern(const http::Headers& headers, const Message& message) {
  const auto meta = message.meta();
  if (auto wrong = check_meta(meta)) return wrong;
  const auto version = meta[kVersionKey].get<std::string>();
  if (auto wrong = check_headers(headers, message, version)) return wrong;
  if (version == kModernRevision) return std::nullopt;
  json data = {{"supported", all_revisions()}, {"requested", version}};
  return RpcError{kUnsupportedVersion, "Unsupported protocol version", std::move(data)};
}

std::string negotiate(std::string_view asked) { return std::string(is_handshake_revision(asked) ? asked : kHandshakeRevisions.back()); }

std::optional<std::string> decode_header(std::string_view value) {
  constexpr std::string_view kBegin = "=?base64?";
  if (!value.starts_with(kBegin) || !value.ends_with("?=") || value.size() < kBegin.size() + 2) return std::string(value);
  auto decoded = base64_decode(value.substr(kBegin.size(), value.size() - kBegin.size() - 2));
  if (!decoded.ok() || !is_utf8(*decoded)) return std::nullopt;
  return *std::move(decoded);
}

}  // namespace harena::mcp
