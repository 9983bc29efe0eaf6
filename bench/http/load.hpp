#pragma once
// A closed-loop load generator: each connection sends its next request when its answer is complete.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace harena::bench {

struct Load {
  std::uint16_t port = 0;
  std::string target = "/";
  std::size_t connections = 64;
  std::chrono::milliseconds duration{2000};
  /// Sent as `Authorization: Bearer`.
  std::string token = "0123456789abcdef";
};

struct Measured {
  double per_second = 0;
  double p50_us = 0;
  double p99_us = 0;
};

/// Runs on the calling thread; answers must have a Content-Length. Throws std::runtime_error if an answer isn't 200.
Measured run_load(const Load& load);

/// Binds the calling thread to one CPU if the machine has more than one.
void pin_to_cpu(unsigned cpu);

}  // namespace harena::bench
