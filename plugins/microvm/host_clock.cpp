#include "plugins/microvm/host_clock.hpp"

#include <poll.h>

#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace harena::microvm {

#if defined(__x86_64__)
namespace {

struct Reading {
  std::uint64_t ticks = 0;
  std::int64_t ns = 0;
};

/// The narrowest of several: one that was interrupted between both clocks says nothing.
Reading read_both() {
  Reading best;
  std::uint64_t width = UINT64_MAX;
  for (int i = 0; i < 32; ++i) {
    timespec now{};
    const std::uint64_t before = __rdtsc();
    ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    const std::uint64_t after = __rdtsc();
    if (after - before >= width) continue;
    width = after - before;
    best = {before + width / 2, std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec};
  }
  return best;
}

}  // namespace

std::int64_t measure_tsc_khz() {
  const Reading first = read_both();
  ::poll(nullptr, 0, 50);
  const Reading last = read_both();
  const double per_ns = static_cast<double>(last.ticks - first.ticks) / static_cast<double>(last.ns - first.ns);
  return static_cast<std::int64_t>(per_ns * 1e6 + 0.5);
}
#else
std::int64_t measure_tsc_khz() { return 0; }
#endif

}  // namespace harena::microvm
