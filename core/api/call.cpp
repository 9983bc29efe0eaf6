#include "core/api/call.hpp"

#include "core/config/json_text.hpp"

namespace harena {

http::Task<Result<nlohmann::json>> ApiCall::json_body(std::int64_t limit_bytes) {
  HARENA_CO_TRY(const auto text, co_await request.read_all(static_cast<std::size_t>(limit_bytes)));
  if (text.empty()) co_return nlohmann::json::object();
  auto body = parse_plain_json(text);
  if (!body.ok()) co_return make_error(ErrorCode::invalid_argument, "the body: " + body.error().message);
  co_return body;
}

}  // namespace harena
