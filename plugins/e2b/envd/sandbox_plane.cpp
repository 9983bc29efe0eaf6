#include "plugins/e2b/envd/sandbox_plane.hpp"

#include <set>

#include "plugins/e2b/envd/connect/first_envelope.hpp"
#include "plugins/e2b/envd/files/file_routes.hpp"
#include "plugins/e2b/envd/http/cors.hpp"
#include "plugins/e2b/envd/http/rest_answer.hpp"
#include "plugins/e2b/envd/ports/port_forward.hpp"
#include "plugins/e2b/envd/sandbox_metrics.hpp"
#include "plugins/e2b/envd/service_calls.hpp"
#include "sdk/base/text.hpp"

namespace harena::e2b {

using http::Request;
using http::ResponseWriter;
using http::Task;
using nlohmann::json;

namespace {

/// For whoever manages envd inside a sandbox: never from outside.
bool internal_route(std::string_view path) {
  static const std::set<std::string_view> kRoutes = {"/init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade"};
  return kRoutes.contains(path);
}

Task<Status> send_no_route(ResponseWriter& response, std::string path) {
  json body = {{"code", 404}, {"message", "envd has no such route"}, {"path", std::move(path)}};
  return send_rest_json(response, 404, std::move(body));
}

bool let_in(const EnvdCall& call) {
  if (call.sandbox.access_token.empty()) return true;
  return same_secret(call.request.header("X-Access-Token").value_or(""), call.sandbox.access_token);
}

/// "user" of "Basic dXNlcjo="; empty without one.
Result<std::string> basic_user(const Request& request) {
  const auto text = request.header("Authorization").value_or("");
  if (text.size() < 6 || !http::iequals(text.substr(0, 6), "Basic ")) return std::string();
  auto decoded = base64_decode(text.substr(6));
  if (!decoded) return make_error(ErrorCode::unauthenticated, "the Authorization header isn't base64 of 'user:'");
  return decoded->substr(0, decoded->find(':'));
}

bool gone(const SandboxAccess& sandbox) {
  if (sandbox.state == "running" || sandbox.state == "creating" || sandbox.state == "resuming") return false;
  return !sandbox.auto_resume || (sandbox.state != "paused" && sandbox.state != "pausing");
}

/// What most calls are, and the API itself tells whether it can be done.
bool starts_command(const Destination& to, const Request& request) {
  return to.port == kEnvdPort && request.path() == "/process.Process/Start" && request.method() == "POST";
}

/// SDKs of early 2026 name no sandbox after a connect, but send its token; a signed URL may name none, and is signed with a token.
std::optional<SandboxPlane::Secret> secret_of(const Request& request) {
  if (const auto token = request.header("X-Access-Token"); token && envd_path(request.path())) {
    return SandboxPlane::Secret{[given = std::string(*token)](const std::string& token) { return same_secret(given, token); },
                                "X-Access-Token is no running sandbox's; E2b-Sandbox-Id and E2b-Sandbox-Port name one"};
  }
  if (request.path() != "/files") return std::nullopt;
  auto url = signed_url(request);
  if (!url || url->signature.empty()) return std::nullopt;
  return SandboxPlane::Secret{[signed_by = *url](const std::string& token) { return same_secret(sign(signed_by, token), signed_by.signature); },
                              "invalid signature"};
}

}  // namespace

Task<Result<bool>> SandboxPlane::serve(Request& request, ResponseWriter& response) {
  auto to = find_destination(request.headers(), request.path(), domain_);
  if (!to) {
    HARENA_CO_TRY_STATUS(co_await send_rest_error(response, std::move(to).error()));
    co_return true;
  }
  if (!*to) {
    const auto secret = secret_of(request);
    if (!secret) co_return false;
    HARENA_CO_TRY(*to, co_await owner_of(*secret));
    if (!*to) {
      HARENA_CO_TRY_STATUS(co_await send_rest_error(response, 401, secret->refusal));
      co_return true;
    }
  }
  if ((*to)->port == kEnvdPort && internal_route(request.path())) {
    HARENA_CO_TRY_STATUS(co_await send_no_route(response, std::string(request.path())));
    co_return true;
  }
  HARENA_CO_TRY_STATUS(co_await serve_for(std::move(**to), request, response));
  co_return true;
}

/// A call that names no sandbox: the one whose secret it has, if it has one.
Task<Result<std::optional<Destination>>> SandboxPlane::owner_of(const Secret& secret) {
  HARENA_CO_TRY(auto all, co_await sandboxes_.all());
  for (auto& sandbox : all) {
    if (sandbox.access_token.empty() || !secret.fits(sandbox.access_token)) continue;
    co_return std::optional<Destination>(Destination{std::move(sandbox.id), kEnvdPort});
  }
  co_return std::optional<Destination>();
}

Task<Status> SandboxPlane::serve_for(Destination to, Request& request, ResponseWriter& response) {
  if (starts_command(to, request)) {
    auto recent = recent_.find(to.sandbox);
    if (recent) co_return co_await start_command(std::move(*recent), request, response);
  }
  auto found = co_await sandboxes_.find(to.sandbox);
  if (!found && found.error().code == ErrorCode::not_found) co_return co_await send_sandbox_gone(response, to.sandbox);
  if (!found) co_return co_await send_rest_error(response, std::move(found).error());
  if (gone(*found)) co_return co_await send_sandbox_gone(response, to.sandbox);
  recent_.keep(*found);
  if (to.port == kEnvdPort) co_return co_await serve_envd(request, response, std::move(*found));
  EnvdCall call(request, response, std::move(*found), api_);
  co_return co_await forward_port(call, to.port);
}

/// The API refuses a start in a sandbox that has gone meanwhile: then, before anything was answered, it is looked up after all.
Task<Status> SandboxPlane::start_command(SandboxAccess recent, Request& request, ResponseWriter& response) {
  const auto id = recent.id;
  FirstEnvelope sink(response, [this, id, &response] { return answer_if_gone(id, response); });
  ResponseWriter open(request, sink);
  co_return co_await serve_envd(request, open, std::move(recent));
}

Task<Result<bool>> SandboxPlane::answer_if_gone(std::string id, ResponseWriter& response) {
  recent_.forget(id);
  auto found = co_await sandboxes_.find(id);
  const bool there = found ? !gone(*found) : found.error().code != ErrorCode::not_found;
  if (there) co_return false;
  HARENA_CO_TRY_STATUS(co_await send_sandbox_gone(response, id));
  co_return true;
}

Task<Status> SandboxPlane::serve_envd(Request& request, ResponseWriter& response, SandboxAccess sandbox) {
  if (is_preflight(request)) co_return co_await answer_preflight(request, response);
  if (!request.headers().contains("Origin")) {
    EnvdCall call(request, response, std::move(sandbox), api_);
    co_return co_await route(call);
  }
  CorsSink sink(response);
  ResponseWriter open(request, sink);
  EnvdCall call(request, open, std::move(sandbox), api_);
  co_return co_await route(call);
}

Task<Status> SandboxPlane::route(EnvdCall& call) {
  const std::string path(call.request.path());
  if (path == "/health") co_return co_await call.response.send(204, http::Headers(), "");
  if (path == "/files") co_return co_await files(call);
  if (!let_in(call)) {
    co_return co_await send_rest_error(call.response, 401, "unauthorized access, please provide a valid access token or method signing if supported");
  }
  if (path.starts_with("/process.Process/") || path.starts_with("/filesystem.Filesystem/")) co_return co_await rpc(call, path);
  co_return co_await rest(call, path);
}

Task<Status> SandboxPlane::rest(EnvdCall& call, std::string_view path) {
  const auto& method = call.request.method();
  if (path == "/envs" && method == "GET") {
    json environment = call.sandbox.environment;
    if (call.sandbox.environment.empty()) environment = json::object();
    co_return co_await send_rest_json(call.response, 200, std::move(environment));
  }
  if (path == "/metrics" && method == "GET") co_return co_await answer_metrics(call);
  if (path == "/files/compose" && method == "POST") co_return co_await compose_files(call);
  co_return co_await send_no_route(call.response, std::string(path));
}

Status SandboxPlane::check_file_access(const EnvdCall& call) const {
  if (let_in(call)) return {};
  if (call.request.headers().contains("X-Access-Token")) {
    return make_error(ErrorCode::unauthenticated, "unauthorized access, the access token is wrong");
  }
  HARENA_TRY(const auto url, signed_url(call.request));
  return check_signature(url, call.sandbox.access_token, clock_.wall_ms() / 1000);
}

Task<Status> SandboxPlane::files(EnvdCall& call) {
  auto allowed = check_file_access(call);
  if (!allowed) co_return co_await send_rest_error(call.response, std::move(allowed).error());
  const auto& method = call.request.method();
  if (method == "GET" || method == "HEAD") co_return co_await get_file(call);
  if (method == "POST") co_return co_await post_files(call);
  co_return co_await send_rest_error(call.response, 405, "method " + method + "; /files knows GET and POST");
}

Task<Status> SandboxPlane::rpc(EnvdCall& call, std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  auto user = basic_user(call.request);
  if (!user) co_return co_await send_rest_error(call.response, std::move(user).error());
  call.as_user(std::move(*user));
  const bool process = path.starts_with("/process.");
  if (process) co_return co_await serve_rpc(processes_, ProcessService::method(name), ProcessService::streams(name), call);
  co_return co_await serve_rpc(filesystem_, FilesystemService::method(name), FilesystemService::streams(name), call);
}

}  // namespace harena::e2b
