#include "sdk/base/clock.hpp"

#include <time.h>

namespace harena {
namespace {

std::int64_t read_ns(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::int64_t SystemClock::wall_ms() const { return read_ns(CLOCK_REALTIME) / 1'000'000; }
std::int64_t SystemClock::monotonic_ns() const { return read_ns(CLOCK_MONOTONIC); }

}  // namespace harena
