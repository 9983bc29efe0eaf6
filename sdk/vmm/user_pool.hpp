#pragma once
// Users of VMM processes: each machine has one that nobody else has, so that no VMM may signal, trace or read another.

#include <cstdint>
#include <mutex>
#include <set>

#include "sdk/base/result.hpp"

namespace harena::vmm {

/// Thread-safe.
class UserPool {
 public:
  UserPool(std::uint32_t base, std::uint32_t count) : base_(base), count_(count) {}
  /// The lowest free one; resource_exhausted when all are taken (the message says how many there are).
  Result<std::uint32_t> acquire();
  /// For a machine that was found again. One that is taken, or of another configuration, stays as it is.
  void acquire_exactly(std::uint32_t uid);
  void release(std::uint32_t uid);

 private:
  const std::uint32_t base_;
  const std::uint32_t count_;
  std::mutex mutex_;
  std::set<std::uint32_t> taken_;
};

}  // namespace harena::vmm
