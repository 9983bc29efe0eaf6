#pragma once
// Which CPUs threads run on: sets of CPU numbers, and the calls that read and change a thread's.

#include <sys/types.h>

#include <set>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena {

using CpuSet = std::set<unsigned>;

/// Above any machine that Linux runs on.
inline constexpr unsigned kMostCpus = 8192;

/// "0-3,7", as cpuset.cpus and /sys/devices/system/cpu/online have it. invalid_argument for anything else; empty text is an empty set.
Result<CpuSet> parse_cpus(std::string_view text);
/// The shortest such text.
std::string cpus_text(const CpuSet& cpus);

/// Of a thread; 0: of the caller. not_found when it has ended.
Result<CpuSet> cpus_of(pid_t thread);
/// Idempotent. not_found when it has ended, invalid_argument when none of them is a CPU that it may have (its cpuset).
Status set_cpus(pid_t thread, const CpuSet& cpus);
/// The caller takes the CPUs that `other` has, or keeps its own when that has ended. Two system calls, no memory.
void take_cpus_of(pid_t other);

}  // namespace harena
