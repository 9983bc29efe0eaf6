#pragma once
// What a revision of the protocol wants of a request beside its JSON-RPC: versions in headers and in `_meta`.
//
// 2025-06-18 and 2025-11-25 begin with `initialize` and have sessions. 2026-07-28 has neither: each request says its revision and
// the client's capabilities in `_meta`, and repeats method and name in headers, which must agree with the body.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/mcp/json_rpc.hpp"
#include "sdk/http/headers.hpp"

namespace harena::mcp {

inline constexpr std::array<std::string_view, 2> kHandshakeRevisions = {"2025-06-18", "2025-11-25"};
inline constexpr std::string_view kModernRevision = "2026-07-28";
inline constexpr const char* kVersionHeader = "MCP-Protocol-Version";
inline constexpr const char* kSessionHeader = "Mcp-Session-Id";

bool is_handshake_revision(std::string_view revision);
/// All that are spoken, oldest first.
nlohmann::json all_revisions();

/// Whether the request is of a revision without a handshake: its header says one that isn't older, or its `_meta` names a revision.
bool is_modern(const http::Headers& headers, const Message& message);
/// What is wrong with a request of 2026-07-28; nullopt: nothing.
std::optional<RpcError> check_modern(const http::Headers& headers, const Message& message);
/// The revision that `initialize` is answered with: the one asked for, or the newest with a handshake.
std::string negotiate(std::string_view asked);

/// A header's value that may be written as `=?base64?...?=`; nullopt for one that isn't written properly.
std::optional<std::string> decode_header(std::string_view value);

}  // namespace harena::mcp
