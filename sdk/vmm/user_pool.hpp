#pragma once
// Users of VMM processes: each machine has one that nobody else has, so that no VMM may signal, trace or read
// another.
//
// Nobody else means on this host: two installations with the same `uid_base` see each other by byte locks
// (fcntl, F_OFD_SETLK) on one file, byte N for user N. The pool holds one for each user that it has given
// away, and the process of each machine another (hold_user), which outlives the daemon and goes with the
// machine: nothing is left over by who dies.

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::vmm {

/// The same for all installations of a host, and root's alone.
inline constexpr const char* kUsersFile = "/run/harena-vm-users";

/// Thread-safe.
class UserPool {
 public:
  UserPool(std::uint32_t base, std::uint32_t count, std::string file = kUsersFile) : base_(base), count_(count), file_(std::move(file)) {}
  /// The lowest free one; resource_exhausted when all are taken (the message says how many there are).
  Result<std::uint32_t> acquire();
  /// For a machine that was found alive. One that is taken, or of another configuration, stays as it is.
  Status acquire_exactly(std::uint32_t uid);
  /// For a machine that gets another process, and that nobody held a user for: the one it had, if that is
  /// free, else another one.
  Result<std::uint32_t> acquire_again(std::uint32_t uid);
  void release(std::uint32_t uid);

 private:
  Status open_file();
  /// False: somebody else on this host has it.
  Result<bool> take(std::uint32_t uid);

  const std::uint32_t base_;
  const std::uint32_t count_;
  const std::string file_;
  std::mutex mutex_;
  UniqueFd locks_;
  std::set<std::uint32_t> taken_;
};

/// For the process of a machine: no pool gives `uid` away while the descriptor is open. unavailable when
/// somebody is just about to take it.
Result<UniqueFd> hold_user(std::uint32_t uid, const std::string& file = kUsersFile);

}  // namespace harena::vmm
