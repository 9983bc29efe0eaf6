#include "sdk/support/tsc_rate.hpp"

#include <time.h>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace harena {
namespace {

#ifdef __x86_64__
constexpr std::int64_t kMeasureNs = 20'000'000;

struct Reading {
  std::int64_t ns;
  std::uint64_t ticks;
};

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

/// Both at nearly the same moment: of a few tries the one that took least.
Reading read_both() {
  Reading best{0, 0};
  std::int64_t least = INT64_MAX;
  for (int i = 0; i < 8; ++i) {
    const auto before = now_ns();
    const auto ticks = __rdtsc();
    const auto after = now_ns();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + (after - before) / 2, ticks};
  }
  return best;
}

std::uint64_t measure() {
  const auto first = read_both();
  timespec rest{0, kMeasureNs};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, nullptr);
  const auto last = read_both();
  return static_cast<std::uint64_t>(static_cast<double>(last.ticks - first.ticks) * 1e6 / static_cast<double>(last.ns - first.ns) + 0.5);
}
#else
std::uint64_t measure() { return 0; }
#endif

}  // namespace

std::uint64_t tsc_rate_khz() {
  static const std::uint64_t kRate = measure();
  return kRate;
}

std::string emulated_kernel_words(std::uint64_t tsc_khz) {
  const std::string words = " mitigations=off clearcpuid=erms,rep_good";
  return tsc_khz == 0 ? words : " no_timer_check tsc=reliable tsc_early_khz=" + std::to_string(tsc_khz) + words;
}

}  // namespace harena
