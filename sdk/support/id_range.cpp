#include "sdk/support/id_range.hpp"

#include "sdk/base/text.hpp"

namespace harena {

Status IdRangePool::check(std::uint64_t base, std::uint64_t count) {
  constexpr std::uint64_t kLast = 0xFFFFFFFFull - kIdsPerRange;
  const bool fits = base != 0 && base % kIdsPerRange == 0 && base <= kLast && count >= 1 && count <= kLast &&
                    base + count * kIdsPerRange - 1 <= kLast;
  if (fits) return {};
  return make_error(ErrorCode::invalid_argument,
                    "an id pool of " + std::to_string(count) + " ranges from " + std::to_string(base) +
                        ": the base must be a multiple of 65536 above 0 and the last id at most " + std::to_string(kLast));
}

Result<std::uint32_t> IdRangePool::acquire() {
  std::lock_guard lock(mutex_);
  std::uint32_t candidate = 0;
  for (std::uint32_t taken : taken_) {
    if (taken != candidate) break;
    ++candidate;
  }
  if (candidate >= count_) {
    Error error = infrastructure_error(ErrorCode::resource_exhausted, "id-ranges",
                                       "all " + std::to_string(count_) + " id ranges are in use by sandboxes");
    return error;
  }
  taken_.insert(candidate);
  return base_ + candidate * kIdsPerRange;
}

Status IdRangePool::acquire_exactly(std::uint32_t first_id) {
  std::lock_guard lock(mutex_);
  if (first_id < base_ || (first_id - base_) % kIdsPerRange != 0 || (first_id - base_) / kIdsPerRange >= count_) {
    return make_error(ErrorCode::out_of_range, "id range " + std::to_string(first_id) + " isn't of the configured pool");
  }
  if (!taken_.insert((first_id - base_) / kIdsPerRange).second) {
    return make_error(ErrorCode::already_exists, "id range " + std::to_string(first_id) + " is taken already");
  }
  return {};
}

void IdRangePool::release(std::uint32_t first_id) {
  std::lock_guard lock(mutex_);
  if (first_id >= base_) taken_.erase((first_id - base_) / kIdsPerRange);
}

std::size_t IdRangePool::in_use() const {
  std::lock_guard lock(mutex_);
  return taken_.size();
}

std::string overlapping_subids(const std::string& subuid_text, std::uint64_t first, std::uint64_t last) {
  std::string overlaps;
  for (const auto& line : split(subuid_text, '\n')) {
    auto fields = split(line, ':');
    if (fields.size() != 3) continue;
    auto start = parse_int(fields[1], 0, INT64_MAX / 2, "start");
    auto count = parse_int(fields[2], 1, INT64_MAX / 2, "count");
    if (!start.ok() || !count.ok()) continue;
    const auto begin = static_cast<std::uint64_t>(*start);
    if (begin <= last && begin + static_cast<std::uint64_t>(*count) > first) {
      overlaps += (overlaps.empty() ? "" : ", ") + line;
    }
  }
  return overlaps;
}

}  // namespace harena
