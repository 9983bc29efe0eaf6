#pragma once
// ApiCall: one authenticated request on its way through a route; Reply: what a route answers when it doesn't stream.

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "core/contracts/call.hpp"
#include "core/contracts/identity.hpp"
#include "sdk/base/ids.hpp"
#include "sdk/base/result.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/response_writer.hpp"

namespace harena {

struct Reply {
  int status = 200;
  nlohmann::json body;
  /// The route has answered by itself (a stream, an upgrade).
  static Reply already_sent() { return {.status = 0}; }
};

struct ApiCall {
  http::Request& request;
  http::ResponseWriter& response;
  Principal principal;
  CallContext context;

  /// The JSON body, {} when there is none. invalid_argument for what isn't JSON, naming where it breaks.
  http::Task<Result<nlohmann::json>> json_body(std::int64_t limit_bytes);
  /// The path's `{id}`.
  Result<SandboxId> sandbox_id() const { return SandboxId::parse(request.param("id")); }
};

}  // namespace harena
