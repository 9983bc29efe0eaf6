#pragma once
// Ranges of user and group ids: root inside a sandbox is `base` outside, an id that nobody else has.

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "sdk/base/result.hpp"

namespace harena {

/// What a range holds: the 16-bit ids, so that `nobody` (65534) and every Debian user exist inside.
inline constexpr std::uint32_t kIdsPerRange = 65536;
/// What a sandbox's map names: the last id of its range has no number inside. init runs as that one, out of everybody's reach.
inline constexpr std::uint32_t kIdsMapped = kIdsPerRange - 1;
/// 0x70000000: above what distributions hand out (/etc/subuid starts at 100000, systemd-nspawn ends at 0x6FFFFFFF,
/// systemd's reserved "HIC"/"container" areas: https://systemd.io/UIDS-GIDS), below 2^31, where some programs err.
inline constexpr std::uint32_t kDefaultIdBase = 0x70000000;
/// 4094 sandboxes at once; the last range ends at 0x7FFDFFFF.
inline constexpr std::uint32_t kDefaultIdRanges = 4094;

/// Hands out distinct ranges, the lowest free one first. Thread-safe.
class IdRangePool {
 public:
  /// invalid_argument when base isn't a multiple of 65536, is 0, or the last range would pass 2^32 - 65537.
  static Status check(std::uint64_t base, std::uint64_t count);
  IdRangePool(std::uint32_t base, std::uint32_t count) : base_(base), count_(count) {}

  /// The first id of the range; resource_exhausted when all are taken (the message says how many there are).
  Result<std::uint32_t> acquire();
  /// For a sandbox found again after a restart: out_of_range if it isn't of this pool, already_exists if it is taken.
  Status acquire_exactly(std::uint32_t first_id);
  /// Nothing happens for a range that isn't taken.
  void release(std::uint32_t first_id);
  std::size_t in_use() const;

 private:
  const std::uint32_t base_;
  const std::uint32_t count_;
  mutable std::mutex mutex_;
  std::set<std::uint32_t> taken_;  // indices
};

/// The lines of a subuid(5) file (as text) that overlap [first, last]; for probe and doctor. Malformed lines are skipped.
std::string overlapping_subids(const std::string& subuid_text, std::uint64_t first, std::uint64_t last);

}  // namespace harena
