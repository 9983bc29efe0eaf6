#include "core/api/call.hpp"

namespace harena {

http::Task<Result<nlohmann::json>> ApiCall::json_body(std::int64_t limit_bytes) {
  HARENA_CO_TRY(const auto text, co_await request.read_all(static_cast<std::size_t>(limit_bytes)));
  if (text.empty()) co_return nlohmann::json::object();
  std::string problem;
  nlohmann::json body;
  try {
    body = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    problem = "the body isn't JSON: byte " + std::to_string(error.byte) + " of " + std::to_string(text.size());
  }
  if (!problem.empty()) co_return make_error(ErrorCode::invalid_argument, problem);
  co_return body;
}

}  // namespace harena
