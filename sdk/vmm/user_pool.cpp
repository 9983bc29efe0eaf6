#include "sdk/vmm/user_pool.hpp"

#include <fcntl.h>

#include <cerrno>
#include <string>

namespace harena::vmm {
namespace {

Result<UniqueFd> open_locks(const std::string& file) {
  UniqueFd locks(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!locks) return errno_error(errno, "opening " + file);
  return locks;
}

/// F_RDLCK: whoever has it too may keep it; F_WRLCK: nobody has it; F_UNLCK. False: others are in the way.
Result<bool> lock_byte(int locks, short kind, std::uint32_t uid) {
  struct flock wanted{};
  wanted.l_type = kind;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = uid;
  wanted.l_len = 1;
  if (::fcntl(locks, F_OFD_SETLK, &wanted) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return errno_error(errno, "locking a user of machines");
}

}  // namespace

Status UserPool::open_file() {
  if (locks_) return {};
  HARENA_TRY(locks_, open_locks(file_));
  return {};
}

Result<bool> UserPool::take(std::uint32_t uid) {
  HARENA_TRY(const bool nobody, lock_byte(locks_.get(), F_WRLCK, uid));
  if (!nobody) return false;
  // One step, without a moment in between: from now on its machine may hold it too.
  HARENA_TRY_STATUS(lock_byte(locks_.get(), F_RDLCK, uid));
  taken_.insert(uid);
  return true;
}

Result<std::uint32_t> UserPool::acquire() {
  std::lock_guard lock(mutex_);
  HARENA_TRY_STATUS(open_file());
  for (std::uint32_t uid = base_; uid - base_ < count_; ++uid) {
    if (taken_.count(uid) != 0) continue;
    HARENA_TRY(const bool mine, take(uid));
    if (mine) return uid;
  }
  return infrastructure_error(ErrorCode::resource_exhausted, "uids", "all " + std::to_string(count_) +
      " users for machines are taken; configure 'uids'");
}

Status UserPool::acquire_exactly(std::uint32_t uid) {
  std::lock_guard lock(mutex_);
  HARENA_TRY_STATUS(open_file());
  HARENA_TRY_STATUS(lock_byte(locks_.get(), F_RDLCK, uid));
  taken_.insert(uid);
  return {};
}

Result<std::uint32_t> UserPool::acquire_again(std::uint32_t uid) {
  {
    std::lock_guard lock(mutex_);
    HARENA_TRY_STATUS(open_file());
    if (taken_.count(uid) == 0) {
      HARENA_TRY(const bool mine, take(uid));
      if (mine) return uid;
    }
  }
  return acquire();
}

void UserPool::release(std::uint32_t uid) {
  std::lock_guard lock(mutex_);
  if (taken_.erase(uid) != 0) (void)lock_byte(locks_.get(), F_UNLCK, uid);
}

Result<UniqueFd> hold_user(std::uint32_t uid, const std::string& file) {
  HARENA_TRY(UniqueFd locks, open_locks(file));
  HARENA_TRY(const bool held, lock_byte(locks.get(), F_RDLCK, uid));
  if (!held) {
    return infrastructure_error(ErrorCode::unavailable, "uids", "the user " + std::to_string(uid) +
        " is just being taken by another installation");
  }
  return locks;
}

}  // namespace harena::vmm
