#include "core/api/endpoint.hpp"

#include "core/api/openapi.hpp"
#include "sdk/base/text.hpp"

namespace harena {

using http::Task;

namespace {

/// Of a connection that http::Server::connect() made: the API listens on TCP alone.
constexpr std::string_view kInProcessPeer = "unix";

/// The one query parameter of which there may be several: all of them must be there.
constexpr std::string_view kRepeatable = "label";

}  // namespace

Result<std::string> bearer_token(const http::Request& request) {
  constexpr std::string_view kScheme = "bearer ";
  const auto own = request.header(kOwnAuthorization);
  const auto header = own ? *own : request.header("Authorization").value_or("");
  const bool is_bearer = header.size() > kScheme.size() &&
                         std::equal(kScheme.begin(), kScheme.end(), header.begin(), [](char a, char b) {
                           return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
                         });
  if (is_bearer) return std::string(header.substr(kScheme.size()));
  return make_error(ErrorCode::unauthenticated, "a call must carry 'Authorization: Bearer TOKEN'");
}

Result<Principal> ApiRouter::authenticate(const http::Request& request) {
  HARENA_TRY(const auto token, bearer_token(request));
  HARENA_TRY(auto principal, authenticator_.authenticate(token));
  // A frontend's credential never leaves the process; if one did, it would be good for nothing.
  if (principal.frontend.empty() || request.peer() == kInProcessPeer) return principal;
  return make_error(ErrorCode::unauthenticated, "a frontend's credential is good inside its process only");
}

void ApiRouter::add(std::string method, std::string pattern, http::RouteInfo info, Route route) {
  Entry entry{.route = std::move(route), .checks_query = method != "*", .query = openapi_query(info.operation_id)};
  auto handler = [this, entry = std::move(entry)](http::Request& request, http::ResponseWriter& response) {
    return run(entry, request, response);
  };
  auto added = router_.add({std::move(method), std::move(pattern), std::move(info), std::move(handler)});
  if (!added.ok() && status_.ok()) status_ = std::move(added);
}

Task<Status> ApiRouter::run(const Entry& entry, http::Request& request, http::ResponseWriter& response) {
  auto principal = authenticate(request);
  if (!principal.ok()) co_return std::move(principal).error();
  if (entry.checks_query) {
    HARENA_CO_TRY(const auto query, request.query());
    HARENA_CO_TRY_STATUS(query.allow_only(entry.query));
    HARENA_CO_TRY_STATUS(query.refuse_repeated(kRepeatable));
  }
  ApiCall call{request, response, *std::move(principal), {}};
  call.context.principal = call.principal.id;
  call.context.trace_id = std::string(request.header("X-Trace-Id").value_or(""));
  if (call.context.trace_id.empty()) call.context.trace_id = random_.hex(8);
  auto reply = co_await entry.route(call);
  if (!reply.ok()) co_return std::move(reply).error();
  if (reply->status == 0) co_return ok_status();
  co_return co_await response.send_json(reply->status, reply->body);
}

}  // namespace harena
