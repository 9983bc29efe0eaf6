#pragma once
// The frequency of this host's time stamp counter, which a guest under emulation sees as its own.

#include <cstdint>

namespace harena::microvm {

/// Measured against CLOCK_MONOTONIC_RAW over 50 ms; better than 10 parts in a million. 0 when the CPU has none (not x86).
std::int64_t measure_tsc_khz();

}  // namespace harena::microvm
