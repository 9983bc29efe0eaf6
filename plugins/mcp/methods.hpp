#pragma once
// The methods of MCP that this server has, whichever way a request came.

#include <optional>
#include <string>

#include "plugins/mcp/calls_under_way.hpp"
#include "plugins/mcp/counters.hpp"
#include "plugins/mcp/event_stream.hpp"
#include "plugins/mcp/json_rpc.hpp"
#include "plugins/mcp/settings.hpp"
#include "plugins/mcp/tools/catalog.hpp"
#include "sdk/frontend/api_client.hpp"

namespace harena::mcp {

/// Everything outlives the server and is thread-safe.
struct Services {
  frontend::ApiClient& api;
  const Settings& settings;
  const Catalog& catalog;
  Counters& counters;
  CallsUnderWay& calls;
};

struct Caller {
  std::string token;
  std::string session;     ///< empty in 2026-07-28
  bool is_modern = false;  ///< 2026-07-28: results say more, and a connection that is closed cancels
};

struct MethodAnswer {
  std::optional<RpcError> error;
  nlohmann::json result = nullptr;
  bool is_cancelled = false;  ///< there is no answer
  bool is_unauthenticated = false;
};

/// Answers a request; `stream` is told of progress before that.
http::Task<MethodAnswer> run_method(Services& services, const Caller& caller, const Message& message, EventStream& stream);
/// The result of `initialize`.
nlohmann::json initialize_result(const std::string& revision);
/// notifications/cancelled: the call that it names is ended. Anything else, and a call that isn't there, changes nothing.
http::Task<void> take_notification(Services& services, const Caller& caller, const Message& message);

}  // namespace harena::mcp
