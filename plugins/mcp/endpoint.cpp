#include "plugins/mcp/endpoint.hpp"

#include "plugins/mcp/envelope.hpp"

namespace harena::mcp {

using http::Request;
using http::ResponseWriter;
using http::Task;
using nlohmann::json;

namespace {

constexpr const char* kPath = "/mcp";
/// A file that is written comes as base64 in JSON.
constexpr std::size_t kMaxBodyBytes = 32 << 20;

Task<Status> refuse(ResponseWriter& response, int status, std::string text, http::Headers headers = {}, int code = kInvalidRequest) {
  headers.add("Content-Type", "application/json");
  const RpcError error{code, std::move(text), nullptr};
  const auto body = dump(error_document(nullptr, error));
  co_return co_await response.send(status, std::move(headers), body);
}

Task<Status> refuse_rpc(ResponseWriter& response, const Message& message, RpcError error, int status) {
  EventStream stream(response, nullptr);
  co_return co_await stream.answer(error_document(message.id, error), status);
}

Task<Status> ask_for_token(ResponseWriter& response, std::string text) {
  http::Headers headers;
  headers.add("WWW-Authenticate", "Bearer");
  co_return co_await refuse(response, 401, std::move(text), std::move(headers));
}

std::string token_of(const Request& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const auto field = request.header("Authorization").value_or("");
  if (field.size() <= kBearer.size() || !http::iequals(field.substr(0, kBearer.size()), kBearer)) return "";
  return std::string(field.substr(kBearer.size()));
}

/// `type` or its family or anything is among the media types of Accept.
bool accepts(const Request& request, std::string_view type) {
  const auto family = std::string(type.substr(0, type.find('/'))) + "/*";
  for (auto one : request.headers().tokens("Accept")) {
    one = one.substr(0, one.find(';'));
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (http::iequals(one, type) || http::iequals(one, family) || one == "*/*") return true;
  }
  return false;
}

bool is_json(const Request& request) {
  auto type = request.header("Content-Type").value_or("");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return http::iequals(type, "application/json");
}

}  // namespace

http::Handler Endpoint::handler() {
  return [this](Request& request, ResponseWriter& response) { return serve(request, response); };
}

Task<Status> Endpoint::serve(Request& request, ResponseWriter& response) {
  if (request.path() != kPath) co_return co_await refuse(response, 404, "there is nothing here; MCP is at /mcp");
  const auto origin = request.header("Origin").value_or("");
  if (!may_call(services_.settings, origin)) {
    const auto shown = std::string(origin.substr(0, 200));
    co_return co_await refuse(response, 403, "pages of '" + shown + "' may not call; allowed_origins names those that may");
  }
  const bool is_known = request.method() == "POST" || request.method() == "DELETE";
  if (!is_known) {
    http::Headers headers;
    headers.add("Allow", "POST, DELETE");
    co_return co_await refuse(response, 405, request.method() + " isn't there: this server sends nothing unasked", std::move(headers));
  }
  auto token = token_of(request);
  if (token.empty()) {
    co_return co_await ask_for_token(response, "a request must carry Authorization: Bearer with a token of this installation");
  }
  auto caller = co_await services_.api.ask("GET", "/v1/whoami", token);
  if (!caller.ok() && caller.error().code == ErrorCode::unauthenticated) co_return co_await ask_for_token(response, caller.error().message);
  if (!caller.ok()) co_return co_await refuse(response, 503, caller.error().message, {}, kInternalError);
  if (request.method() == "DELETE") co_return co_await end_session(request, response, std::move(token));
  co_return co_await post(request, response, std::move(token));
}

Task<Status> Endpoint::end_session(Request& request, ResponseWriter& response, std::string token) {
  const std::string id(request.header(kSessionHeader).value_or(""));
  if (id.empty()) co_return co_await refuse(response, 400, "the header Mcp-Session-Id says which session is to end");
  if (!sessions_.find(id, token)) co_return co_await refuse(response, 404, "there is no such session");
  sessions_.end(id);
  co_return co_await response.send(204, {}, "");
}

Task<Status> Endpoint::post(Request& request, ResponseWriter& response, std::string token) {
  if (!is_json(request)) co_return co_await refuse(response, 415, "Content-Type must be application/json");
  const bool takes_both = accepts(request, "application/json") && accepts(request, "text/event-stream");
  if (!takes_both) co_return co_await refuse(response, 406, "Accept must name application/json and text/event-stream");
  auto body = co_await request.read_all(kMaxBodyBytes);
  if (!body.ok()) {
    const bool too_large = body.error().code == ErrorCode::resource_exhausted;
    if (!too_large) co_return std::move(body).error();
    co_return co_await refuse(response, 413, "a message has at most " + std::to_string(kMaxBodyBytes) + " bytes");
  }
  auto parsed = parse_message(*body);
  if (!parsed.ok) co_return co_await refuse_rpc(response, parsed.message, std::move(parsed.error), 400);
  if (parsed.message.method == "initialize" && parsed.message.is_request()) {
    co_return co_await initialize(parsed.message, response, std::move(token));
  }
  co_return co_await take(request, parsed.message, response, std::move(token));
}

Task<Status> Endpoint::initialize(const Message& message, ResponseWriter& response, std::string token) {
  const auto asked = message.text("protocolVersion");
  if (asked.empty()) {
    RpcError error{kInvalidParams, "params.protocolVersion is missing", nullptr};
    co_return co_await refuse_rpc(response, message, std::move(error), 200);
  }
  const auto revision = negotiate(asked);
  http::Headers headers;
  headers.add("Content-Type", "application/json");
  headers.add(kSessionHeader, sessions_.make(token, revision));
  const auto body = dump(result_document(message.id, initialize_result(revision)));
  co_return co_await response.send(200, std::move(headers), body);
}

Task<Status> Endpoint::take(const Request& request, const Message& message, ResponseWriter& response, std::string token) {
  Caller caller{std::move(token), std::string(request.header(kSessionHeader).value_or("")), is_modern(request.headers(), message)};
  const auto version = request.header(kVersionHeader);
  if (caller.is_modern) {
    caller.session.clear();
    auto wrong = message.is_request() ? check_modern(request.headers(), message) : std::nullopt;
    if (wrong) co_return co_await refuse_rpc(response, message, *std::move(wrong), 400);
  } else {
    if (caller.session.empty()) co_return co_await refuse(response, 400, "the header Mcp-Session-Id is missing; initialize answers one");
    if (!sessions_.find(caller.session, caller.token)) {
      co_return co_await refuse(response, 404, "there is no such session; initialize begins one");
    }
    if (version && !is_handshake_revision(*version)) {
      const auto shown = std::string(version->substr(0, 64));
      co_return co_await refuse(response, 400, "MCP-Protocol-Version is '" + shown + "'; right are 2025-06-18, 2025-11-25");
    }
  }
  if (message.is_request()) co_return co_await run(caller, message, response);
  co_await take_notification(services_, caller, message);
  co_return co_await response.send(202, {}, "");
}

Task<Status> Endpoint::run(const Caller& caller, const Message& message, ResponseWriter& response) {
  EventStream stream(response, message.meta().value("progressToken", json()));
  auto answer = co_await run_method(services_, caller, message, stream);
  if (answer.is_cancelled) co_return co_await stream.end();
  if (answer.is_unauthenticated && !response.begun()) co_return co_await ask_for_token(response, "the token isn't valid any more");
  if (answer.is_unauthenticated) answer.error = RpcError{kInternalError, "the token isn't valid any more", nullptr};
  if (!answer.error) co_return co_await stream.answer(result_document(message.id, std::move(answer.result)), 200);
  const int status = caller.is_modern ? status_of(answer.error->code) : 200;
  co_return co_await stream.answer(error_document(message.id, *answer.error), status);
}

}  // namespace harena::mcp
