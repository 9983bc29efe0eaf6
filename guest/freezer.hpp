#pragma once
// Standstill of the sandbox: its processes by the cgroup freezer, and for a snapshot of the disk alone its file system too.

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::guest {

class Freezer {
 public:
  /// Returns when all processes of the sandbox stand still. deadline_exceeded (infrastructure) after 10 s: one hangs in the kernel; then
  /// nothing stays frozen. Idempotent.
  Status freeze(bool filesystems);
  /// Idempotent.
  Status thaw();
  bool frozen() const { return frozen_; }

 private:
  Status freeze_disk();
  bool frozen_ = false;
  UniqueFd disk_;  // while it is frozen
};

}  // namespace harena::guest
