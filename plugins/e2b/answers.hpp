#pragma once
// E2B's shape of answers: errors are always JSON with an integer `code`, equal to the status, and a `message`.

#include <string>

#include <nlohmann/json.hpp>

#include "sdk/base/result.hpp"
#include "sdk/http/response_writer.hpp"
#include "sdk/http/task.hpp"

namespace harena::e2b {

/// An answer of the control plane before it is sent.
struct Answer {
  int status = 200;
  nlohmann::json body;  ///< null: none; then 204, or Content-Length 0
  http::Headers headers = {};
};

/// What a request was refused with.
Answer refusal(int status, std::string message);
/// An error of the core in E2B's words: 400, 401, 403, 404, 409, 429 (with Retry-After), 500, 503 or 504.
Answer refusal(const Error& error);
http::Task<Status> send(http::ResponseWriter& response, Answer answer);

}  // namespace harena::e2b
