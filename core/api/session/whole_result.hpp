#pragma once
// `wait: true`: the answer to a start with everything that the command printed, in memory that doesn't grow with it.

#include "core/api/session/live_answer.hpp"
#include "sdk/http/response_writer.hpp"
#include "sdk/session/client/session_client.hpp"

namespace harena {

/// Of each stream so much is held while the command runs. What is longer is let go and read again from the endpoint's spool once
/// the command has ended, as the answer is written; so that a thousand waiting callers don't fill this process.
inline constexpr std::size_t kHeldOutputBytes = 64 << 10;

/// White space, which JSON takes in front. Later than the 20 s after which this project's SDKs follow the output instead, and before
/// proxies think that there is nobody (30 to 60 s).
inline const SignsOfLife kWaitingSigns{.sign = "\n", .first = std::chrono::seconds(25)};

/// Follows the command to its end and answers 200 with the whole result. An error is returned before the answer has begun, or
/// breaks the answer off: a client never sees one that looks whole and isn't.
/// `starting` may take as long as the command; `request` is what it sends.
http::Task<Status> answer_whole_result(http::ResponseWriter& response, session::SessionClient& client,
                                       http::Task<Result<session::AttachedCommand>> starting,
                                       const session::StartRequest& request, SignsOfLife signs = kWaitingSigns);

}  // namespace harena
