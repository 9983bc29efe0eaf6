#pragma once
// LiveAnswer: an answer that goes on for as long as something happens: written to by who tells of it and by a clock, one at a time.

#include <string>

#include "sdk/http/async_mutex.hpp"
#include "sdk/http/response_writer.hpp"
#include "sdk/http/task.hpp"

namespace harena {

/// On one loop. The answer has begun already.
class LiveAnswer {
 public:
  /// `sign`: what is written every 15 s, so that a silent connection isn't taken for a dead one.
  LiveAnswer(http::ResponseWriter& response, std::string sign) : response_(response), sign_(std::move(sign)) {}

  /// Runs `copy`, which tells by write(), and finishes the answer. When the other side has gone, both end.
  http::Task<Status> run(http::Task<Status> copy);
  http::Task<Status> write(std::string bytes);
  /// Goes out along with the end of the answer, once `copy` has returned.
  void end_with(std::string bytes) { last_ = std::move(bytes); }

 private:
  http::Task<void> finish_by(http::Task<Status> copy);
  http::Task<void> keep_alive();

  http::ResponseWriter& response_;
  std::string sign_;
  std::string last_;
  bool done_ = false;
  http::AsyncMutex mutex_;
  Status outcome_;
};

}  // namespace harena
