#pragma once
// A server's stream that goes on for as long as something happens: told by one coroutine, kept alive by a clock, ended by a deadline.

#include <chrono>
#include <optional>

#include "plugins/e2b/envd/connect/rpc.hpp"

namespace harena::e2b {

/// Runs `copy`, which sends. What it holds goes out within 5 ms. Once the stream has begun, `keepalive` goes out every rpc.keepalive(). After `deadline` (nullopt: none) copy is
/// cancelled and the outcome is deadline_exceeded. Borrows all but the task. rpc.end() is the caller's.
http::Task<Status> run_live(Rpc& rpc, http::Task<Status> copy, const google::protobuf::Message& keepalive,
                            std::optional<std::chrono::milliseconds> deadline);

}  // namespace harena::e2b
