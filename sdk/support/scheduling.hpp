#pragma once
// How soon a process of the platform gets the CPU that a sandbox's processes are using.

#include <cstdint>

namespace harena {

/// The calling thread, and all that it starts, has a short slice: when it wakes up it takes the CPU from whoever has a longer one,
/// where else it would wait for up to a tick (4 ms with HZ=250) until that one has used up its own. It gets no larger share. For
/// programs that answer in less time than the slice and sleep again.
///
/// Linux 6.12 and newer; older kernels take the request and do nothing. False when the kernel refused it.
bool prefer_latency();

/// Back to the machine's own slice: for what a process of the platform starts for somebody else.
bool prefer_nothing();

/// 0.4 ms: longer than an answer takes, shorter than the kernel's own (0.7 ms and more, by the number of CPUs).
inline constexpr std::uint64_t kPlatformSliceNs = 400'000;

}  // namespace harena
