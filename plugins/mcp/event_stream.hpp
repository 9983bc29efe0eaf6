#pragma once
// EventStream: the answer to one request, as JSON if it comes at once, as server-sent events once there is something to tell before it.

#include <string>

#include <nlohmann/json.hpp>

#include "sdk/http/response_writer.hpp"
#include "sdk/http/task.hpp"

namespace harena::mcp {

/// Of one handler.
class EventStream {
 public:
  /// Borrows `response`. `progress_token` null: progress isn't asked for.
  EventStream(http::ResponseWriter& response, nlohmann::json progress_token)
      : response_(response), progress_token_(std::move(progress_token)) {}

  /// notifications/progress, if it was asked for; `done` only ever grows.
  http::Task<Status> progress(std::int64_t done, std::string message);
  /// A comment, so that no proxy takes a long silence for the end.
  http::Task<Status> alive();
  /// The answer, with `status` if nothing was told before it.
  http::Task<Status> answer(const nlohmann::json& document, int status);
  /// The end without an answer: of a request that was cancelled.
  http::Task<Status> end();

 private:
  http::Task<Status> write(std::string text);

  http::ResponseWriter& response_;
  const nlohmann::json progress_token_;
  std::int64_t told_ = 0;
};

}  // namespace harena::mcp
