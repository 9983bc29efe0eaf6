#include "sdk/vmm/user_pool.hpp"

#include <string>

namespace harena::vmm {

Result<std::uint32_t> UserPool::acquire() {
  std::lock_guard lock(mutex_);
  std::uint32_t free = base_;
  for (std::uint32_t uid : taken_) {
    if (uid < base_) continue;
    if (uid != free) break;
    ++free;
  }
  if (free - base_ >= count_) {
    return infrastructure_error(ErrorCode::resource_exhausted, "uids", "all " + std::to_string(count_) + " users for machines are taken; configure 'uids'");
  }
  taken_.insert(free);
  return free;
}

void UserPool::acquire_exactly(std::uint32_t uid) {
  std::lock_guard lock(mutex_);
  taken_.insert(uid);
}

void UserPool::release(std::uint32_t uid) {
  std::lock_guard lock(mutex_);
  taken_.erase(uid);
}

}  // namespace harena::vmm
