#pragma once
// The API's routes for commands and files, as docs/http-api.md describes them. They know nothing of authentication or of edges: whoever
// registers them passes a connector for each call.
//
//   for (const auto& route : session_routes()) gate.add(route.method, route.pattern, ..., [&route](ApiCall& call) {
//     EdgeConnector connector(call, ...);
//     HARENA_CO_TRY_STATUS(co_await run_session_route(route, call.request, call.response, connector));
//     co_return Reply::already_sent();
//   });

#include <memory>
#include <span>

#include "sdk/http/request.hpp"
#include "sdk/http/response_writer.hpp"
#include "sdk/session/client/session_client.hpp"

namespace harena {

/// A way to the session of one sandbox.
struct SessionLink {
  session::SessionClient client;
  /// Held as long as the call lasts (the edge's SandboxUse: the sandbox isn't idle).
  std::shared_ptr<void> hold;
  /// What a command gets that names none: the sandbox's `user` parameter or its image's, and the image's working folder.
  std::string default_user = {};
  std::string default_cwd = {};
};

class SessionConnector {
 public:
  virtual ~SessionConnector() = default;
  /// Errors: what is wrong with the sandbox (not_found, failed_precondition when it isn't running, ...).
  virtual http::Task<Result<SessionLink>> connect() = 0;
};

/// On an error nothing may have been answered yet: run_session_route() does.
using SessionHandler = http::Task<Status> (*)(http::Request&, http::ResponseWriter&, SessionConnector&);

enum class SessionAccess { read, use };

struct SessionRoute {
  const char* method;
  /// With `{id}`, and `{cid}` for one command.
  const char* pattern;
  const char* operation_id;
  const char* summary;
  /// What the caller needs on the sandbox.
  SessionAccess access;
  SessionHandler handler;
};

std::span<const SessionRoute> session_routes();

/// Runs the handler; an error before the answer began is answered (with details.reason where there is one). What it
/// returns is the state of the connection.
http::Task<Status> run_session_route(const SessionRoute& route, http::Request& request, http::ResponseWriter& response,
                                     SessionConnector& connector);

}  // namespace harena
