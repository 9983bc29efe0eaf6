#pragma once
// A pair of ByteStreams connected in memory: for tests, and for handing a request over inside a process.

#include <cstddef>
#include <memory>
#include <utility>

#include "sdk/http/byte_stream.hpp"

namespace harena::http {

/// Each direction holds at most `capacity` bytes (at least 1), then writes wait. Both ends live on the same
/// executor. Destroying an end closes it.
std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>> memory_pipe(
    std::size_t capacity = 64 * 1024);

}  // namespace harena::http
