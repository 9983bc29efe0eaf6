#include "plugins/e2b/envd/service_calls.hpp"

#include "plugins/e2b/envd/connect/code.hpp"

namespace harena::e2b {

using http::Task;

namespace {

constexpr const char* kUnaryTypes = "application/json, application/proto";
constexpr const char* kStreamTypes = "application/connect+json, application/connect+proto";

Task<Status> send_refusal(EnvdCall& call, int status, http::Headers headers, Error error) {
  headers.add("Content-Type", "application/json");
  const auto body = connect_error_body(error);
  co_return co_await call.response.send(status, std::move(headers), body);
}

}  // namespace

Task<Result<bool>> refuse_call(EnvdCall& call, bool known, bool streams) {
  http::Headers headers;
  if (!known) {
    auto error = make_error(ErrorCode::unimplemented, "no such procedure: " + std::string(call.request.path()));
    HARENA_CO_TRY_STATUS(co_await send_refusal(call, 404, std::move(headers), std::move(error)));
    co_return true;
  }
  if (call.request.method() != "POST") {
    headers.add("Allow", "POST");
    auto error = make_error(ErrorCode::unimplemented, "method " + call.request.method() + "; procedures are asked by POST");
    HARENA_CO_TRY_STATUS(co_await send_refusal(call, 405, std::move(headers), std::move(error)));
    co_return true;
  }
  const auto kind = content_kind(call.request.header("Content-Type").value_or(""));
  if (kind && kind->streaming == streams) co_return false;
  const char* types = streams ? kStreamTypes : kUnaryTypes;
  headers.add("Accept-Post", types);
  auto error = make_error(ErrorCode::invalid_argument, "content type '" + std::string(call.request.header("Content-Type").value_or("")) +
                                                           "'; this procedure takes " + types);
  HARENA_CO_TRY_STATUS(co_await send_refusal(call, 415, std::move(headers), std::move(error)));
  co_return true;
}

}  // namespace harena::e2b
