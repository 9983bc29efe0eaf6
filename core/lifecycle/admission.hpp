#pragma once
// Admission: the edge's own last word on a create, with its own eyes: how many it runs, what memory and disk are left.

#include <cstdint>
#include <functional>
#include <string>

#include "core/model/sandbox.hpp"
#include "sdk/base/result.hpp"

namespace harena {

/// What the machine has left right now.
struct HostRoom {
  std::int64_t memory_available_bytes = 0;  ///< MemAvailable of /proc/meminfo
  std::int64_t disk_available_bytes = 0;    ///< of the file system that holds the state folder
};

struct AdmissionLimits {
  std::int64_t max_sandboxes = 10'000;
  Resources promise{INT64_MAX, INT64_MAX};  ///< CPU and memory that may be promised, overcommitment included
  std::int64_t min_memory_bytes = 256ll << 20;  ///< kept free for the machine itself
  std::int64_t min_disk_bytes = 512ll << 20;
};

/// Thread-safe when the probe is.
class Admission {
 public:
  Admission(AdmissionLimits limits, std::function<HostRoom()> probe) : limits_(limits), probe_(std::move(probe)) {}
  /// Whether one more that asks for `asked` may come to `living` ones that have been promised `promised`.
  /// resource_exhausted, retry on another node, naming what is short.
  Status admit(std::int64_t living, const Resources& promised, const Resources& asked) const;
  /// Whether one of the living may have `more` (nothing negative) than it was promised.
  Status grow(const Resources& promised, const Resources& more) const;

 private:
  Status check_promises(const Resources& promised, const Resources& asked) const;
  AdmissionLimits limits_;
  std::function<HostRoom()> probe_;
};

/// Reads /proc/meminfo and statvfs(2). A value that can't be read is INT64_MAX: admission then doesn't depend on it.
HostRoom read_host_room(const std::string& state_dir);

}  // namespace harena
