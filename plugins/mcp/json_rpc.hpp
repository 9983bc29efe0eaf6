#pragma once
// JSON-RPC 2.0 as MCP uses it: one message a body; errors, and the HTTP status that the newest revision gives them.

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "sdk/base/result.hpp"

namespace harena::mcp {

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kUnsupportedVersion = -32022;

struct RpcError {
  int code = kInternalError;
  std::string message;
  nlohmann::json data = nullptr;
};

/// A request, or (without an id) a notification, or (without a method) a client's response, which nobody has asked for.
struct Message {
  nlohmann::json id = nullptr;  ///< a text or a whole number; null: a notification
  std::string method;           ///< empty: a response
  nlohmann::json params = nlohmann::json::object();
  bool is_request() const { return !id.is_null() && !method.empty(); }
  /// A text of params.
  std::string text(const char* name) const;
  /// params._meta, {} without one.
  nlohmann::json meta() const;
};

/// Either a message or what is wrong with it.
struct ParsedMessage {
  Message message;
  bool ok = false;
  RpcError error;
};
/// One message; batches are no longer in the protocol. Nesting deeper than kMaxDepth is a parse error.
ParsedMessage parse_message(const std::string& body);
inline constexpr int kMaxDepth = 64;

nlohmann::json result_document(const nlohmann::json& id, nlohmann::json result);
nlohmann::json error_document(const nlohmann::json& id, const RpcError& error);
/// Texts of sandboxes may be any bytes: what isn't UTF-8 is replaced.
std::string dump(const nlohmann::json& document);
/// 2026-07-28: 400 for what the client got wrong, 404 for an unknown method, 200 otherwise.
int status_of(int code);

}  // namespace harena::mcp
