#pragma once
// Times as text.

#include <cstdint>
#include <string>

namespace harena {

/// RFC 3339 in UTC with milliseconds: "2026-11-29T15:21:56.133Z". `wall_ms`: since the epoch, not negative. Thread-safe.
std::string rfc3339(std::int64_t wall_ms);

}  // namespace harena
