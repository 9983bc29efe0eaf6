#include "core/api/session_gate.hpp"

#include "core/api/ports/forward.hpp"
#include "core/api/sandbox_access.hpp"

namespace harena {

using http::Task;

namespace {

Permission permission_for(SessionAccess access) {
  return access == SessionAccess::read ? Permission::sandbox_read : Permission::sandbox_use;
}

/// The way to a sandbox for one call.
class CallConnector final : public SessionConnector {
 public:
  CallConnector(SessionGate& gate, ApiCall& call, SessionAccess access) : gate_(gate), call_(call), access_(access) {}
  Task<Result<SessionLink>> connect() override { return gate_.open(call_, access_); }

 private:
  SessionGate& gate_;
  ApiCall& call_;
  SessionAccess access_;
};

Error no_session(const Sandbox& sandbox) {
  std::string message = "the backend '" + sandbox.spec.backend + "' has no commands, files or ports";
  if (sandbox.details.contains("consoles")) {
    message += ": there is no agent in this guest; GET /v1/sandboxes/" + sandbox.id.str() +
               "/console is its serial console (harena console), /vnc its screen (VNC)";
  }
  return make_error(ErrorCode::unimplemented, std::move(message));
}

/// The error of a connection that couldn't be made, told apart: a sandbox that has ended meanwhile isn't an outage.
bool is_session_gone(const Error& error) { return error.cause == Cause::infrastructure && error.cause_detail == "session"; }

}  // namespace

std::shared_ptr<session::Endpoint> SessionEndpoints::get(const SandboxId& id, const std::string& path) {
  std::lock_guard lock(mutex_);
  auto it = kept_.find(id);
  if (it != kept_.end() && it->second.path == path) return it->second.endpoint;
  if (it != kept_.end()) {
    by_age_.erase(it->second.since);
    kept_.erase(it);
  }
  if (kept_.size() >= kMaxKept) {
    kept_.erase(by_age_.begin()->second);
    by_age_.erase(by_age_.begin());
  }
  auto endpoint = session::Endpoint::over_unix(path);
  kept_.emplace(id, Kept{path, endpoint, ++opened_});
  by_age_.emplace(opened_, id);
  return endpoint;
}

void SessionEndpoints::forget(const SandboxId& id) {
  std::lock_guard lock(mutex_);
  const auto it = kept_.find(id);
  if (it == kept_.end()) return;
  by_age_.erase(it->second.since);
  kept_.erase(it);
}

Task<Result<SessionLink>> SessionGate::open(ApiCall& call, SessionAccess access) {
  // Rights first: whoever may not see the sandbox must neither resume it nor learn that it exists.
  HARENA_CO_TRY(const auto sandbox, co_await permitted_sandbox(services_, call, permission_for(access)));
  const SandboxId id = sandbox.id;
  HARENA_CO_TRY(Edge* const edge, services_.fleet.edge_of(id));
  auto use = co_await edge->use(call.context, id);
  if (!use.ok()) {
    endpoints_.forget(id);
    co_return std::move(use).error();
  }
  if ((*use)->endpoint().empty()) {
    co_return no_session(sandbox);
  }
  auto endpoint = endpoints_.get(id, (*use)->endpoint());
  SessionLink link{session::SessionClient(std::move(endpoint)), nullptr};
  const auto& details = (*use)->sandbox().details;
  link.default_user = details.value("user", "");
  link.default_cwd = details.value("workdir", "");
  link.hold = std::shared_ptr<SandboxUse>(*std::move(use));
  co_return link;
}

Task<Result<Reply>> SessionGate::forward(ApiCall& call) {
  HARENA_CO_TRY(const auto port, parse_port(call.request.param("port")));
  HARENA_CO_TRY(auto link, co_await open(call, SessionAccess::use));
  const PortOpener dial = [&](std::uint16_t number) -> Task<Result<std::unique_ptr<http::ByteStream>>> {
    session::DialRequest request{.port = number};  // Named first: gcc 12 destroys a braced temporary of a co_await twice.
    auto stream = co_await link.client.dial(std::move(request));
    if (!stream.ok() && is_session_gone(stream.error())) {
      HARENA_CO_TRY(const auto id, call.sandbox_id());
      HARENA_CO_TRY(Edge* const edge, services_.fleet.edge_of(id));
      HARENA_CO_TRY(const auto now, co_await edge->get(id));
      HARENA_CO_TRY_STATUS(check_verb(Verb::use, now.state));
    }
    co_return stream;
  };
  PortForward to;
  to.port = port;
  const bool own = call.request.headers().contains(kOwnAuthorization);
  to.private_headers = {std::string(own ? kOwnAuthorization : "Authorization")};
  to.rest = call.request.route().ends_with("{*rest}") ? call.request.param("rest") : "";
  HARENA_CO_TRY_STATUS(co_await forward_to_port(call.request, call.response, std::move(to), dial));
  co_return Reply::already_sent();
}

void SessionGate::add_to(ApiRouter& router) {
  for (const auto& route : session_routes()) {
    router.add(route.method, route.pattern, {.operation_id = route.operation_id, .summary = route.summary},
               [this, &route](ApiCall& call) -> Task<Result<Reply>> {
                 CallConnector connector(*this, call, route.access);
                 HARENA_CO_TRY_STATUS(co_await run_session_route(route, call.request, call.response, connector));
                 co_return Reply::already_sent();
               });
  }
  router.add("*", "/v1/sandboxes/{id}/ports/{port}", "forward", "To a port in the sandbox", this, &SessionGate::forward);
  router.add("*", "/v1/sandboxes/{id}/ports/{port}/{*rest}", "forward_path", "To a port in the sandbox", this,
             &SessionGate::forward);
}

}  // namespace harena
