#pragma once
// Processes by descriptor: a pid alone may have been given to somebody else, a pid with its start time may not.

#include <sys/types.h>

#include <cstdint>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {

/// Names one process of this boot. `start_ticks` is field 22 of /proc/PID/stat (clock ticks since boot).
struct ProcessRef {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
  bool operator==(const ProcessRef&) const = default;
};

/// not_found when there is no such process (a zombie still is one).
Result<ProcessRef> process_ref(pid_t pid);
/// A pidfd of exactly this process; not_found if it has ended or the pid is another's by now; resource_exhausted when that
/// can't be told without a descriptor.
Result<UniqueFd> open_process(const ProcessRef& process);

/// Succeeds when the process has ended already.
Status signal_process(int pidfd, int signal);
/// True once the process has ended; false at the deadline (CLOCK_MONOTONIC nanoseconds; 0: only looks).
bool wait_process_end(int pidfd, std::int64_t deadline_ns);

/// The boot's id (/proc/sys/kernel/random/boot_id): state that names processes is void after a reboot.
Result<std::string> boot_id();

/// Milliseconds until a CLOCK_MONOTONIC deadline, for poll(2): 0 when past, at most INT_MAX.
int poll_timeout_ms(std::int64_t deadline_ns);
std::int64_t monotonic_now_ns();

}  // namespace harena
