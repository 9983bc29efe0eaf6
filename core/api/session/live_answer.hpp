#pragma once
// LiveAnswer: an answer that goes on for as long as something happens: written to by who tells of it and by a clock, one at a time.

#include <chrono>
#include <string>

#include "sdk/http/async_mutex.hpp"
#include "sdk/http/response_writer.hpp"
#include "sdk/http/task.hpp"

namespace harena {

struct SignsOfLife {
  /// Written so that a silent connection isn't taken for a dead one.
  std::string sign;
  std::chrono::milliseconds first{15'000};
  std::chrono::milliseconds every{15'000};
};

/// On one loop. The answer has begun already, or begins with the first sign of life.
class LiveAnswer {
 public:
  LiveAnswer(http::ResponseWriter& response, SignsOfLife signs) : response_(response), signs_(std::move(signs)) {}

  /// Runs `copy`, which tells by write(), and finishes the answer. When the other side has gone, both end.
  http::Task<Status> run(http::Task<Status> copy);
  /// The same, but the answer's end is the caller's to write; its beginning too, unless a sign of life came first (response.begun()): with
  /// status 200 and `head`.
  http::Task<Status> wait_for(http::Task<Status> work, http::Headers head);
  http::Task<Status> write(std::string bytes);
  /// Goes out along with the end of the answer, once `copy` has returned.
  void end_with(std::string bytes) { last_ = std::move(bytes); }

 private:
  http::Task<Status> accompany(http::Task<Status> copy);
  http::Task<void> finish_by(http::Task<Status> copy);
  http::Task<void> keep_alive();

  http::ResponseWriter& response_;
  SignsOfLife signs_;
  http::Headers head_;
  std::string last_;
  bool done_ = false;
  http::AsyncMutex mutex_;
  Status outcome_;
  /// Why a sign of life couldn't be written.
  Status gone_;
};

}  // namespace harena
