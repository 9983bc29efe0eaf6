#pragma once
// A sandbox held still: nothing of it runs, and nobody new gets in (what is born in its group is born frozen).

#include <optional>

#include "sdk/support/cgroup_group.hpp"

namespace harena::container {

class Standstill {
 public:
  static Result<Standstill> begin(CgroupGroup group, std::int64_t deadline_ns);
  Standstill(Standstill&& other) noexcept : group_(std::exchange(other.group_, std::nullopt)), was_frozen_(other.was_frozen_) {}
  Standstill& operator=(Standstill&&) = delete;
  /// Lets it go on, unless it stood still before.
  ~Standstill();

  /// Whether nobody but the init is in it: no command, and no file operation of the shim.
  Result<bool> only(pid_t init) const;
  /// Ends everybody else. deadline_exceeded when somebody can't be killed.
  Status end_others(pid_t init, std::int64_t deadline_ns) const;

 private:
  Standstill(CgroupGroup group, bool was_frozen) : group_(std::move(group)), was_frozen_(was_frozen) {}
  Result<std::vector<UniqueFd>> others(pid_t init) const;

  std::optional<CgroupGroup> group_;
  bool was_frozen_ = false;
};

}  // namespace harena::container
