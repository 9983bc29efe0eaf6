#pragma once
// A sandbox held still. From begin() on nobody new gets in: what is born in its group is born frozen, before its first instruction. Who was
// in it already stands still after settle(); where only() says that there is nobody but the init, which does nothing but reap, that needn't
// be waited for. (The kernel tells of the end of a freezing at most every 10 ms.)

#include <optional>
#include <string>

#include "sdk/support/cgroup_group.hpp"

namespace harena::container {

class Standstill {
 public:
  /// What a crash leaves standing is told from what its owner paused by a file in `state_dir`.
  static Result<Standstill> begin(CgroupGroup group, const std::string& state_dir);
  /// Waits until everybody stands still.
  Status settle(std::int64_t deadline_ns) const;
  /// After a restart: lets go on what only a crash left standing.
  static Status recover(const CgroupGroup& group, const std::string& state_dir, std::int64_t deadline_ns);
  /// Its owner pauses it: from now on it stands still because of that.
  static void forget(const std::string& state_dir);
  Standstill(Standstill&& other) noexcept
      : group_(std::exchange(other.group_, std::nullopt)), state_dir_(std::move(other.state_dir_)), was_frozen_(other.was_frozen_) {}
  Standstill& operator=(Standstill&&) = delete;
  /// Lets it go on, unless it stood still before.
  ~Standstill();

  /// Whether nobody but the init is in it: no command, and no file operation of the shim. It stays so.
  Result<bool> only(pid_t init) const;
  /// Ends everybody else. deadline_exceeded when somebody can't be killed.
  Status end_others(pid_t init, std::int64_t deadline_ns) const;

 private:
  Standstill(CgroupGroup group, std::string state_dir, bool was_frozen)
      : group_(std::move(group)), state_dir_(std::move(state_dir)), was_frozen_(was_frozen) {}
  Result<std::vector<UniqueFd>> others(pid_t init) const;

  std::optional<CgroupGroup> group_;
  std::string state_dir_;
  bool was_frozen_ = false;
};

}  // namespace harena::container
