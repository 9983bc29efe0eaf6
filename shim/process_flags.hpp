#pragma once
// What the kernel says of a process in /proc/PID/stat, also of one that has died and isn't waited for yet.

#include <sys/types.h>

#include <optional>

namespace harena::shim {

struct ProcessFlags {
  /// As ps(1) shows it: 'Z' and 'X' are dead.
  char state = '?';
  /// PF_EXITING: on its way to the end.
  bool exiting = false;
  /// PF_FORKNOEXEC: still in the program of whoever made it.
  bool no_exec = false;
};

/// `proc`: a descriptor of /proc. Nothing when there is no such process.
std::optional<ProcessFlags> process_flags(int proc, pid_t pid);

}  // namespace harena::shim
