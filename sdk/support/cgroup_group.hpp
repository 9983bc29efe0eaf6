#pragma once
// One v2 cgroup by its directory descriptor: membership, freezing, killing, waiting.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {

/// "key value" lines of a flat keyed cgroup file; not_found when there is no such key.
Result<std::int64_t> cgroup_stat(const std::string& text, const std::string& key);

class CgroupGroup {
 public:
  /// Opens parent/name; not_found when there is none.
  static Result<CgroupGroup> open(int parent, const std::string& name);
  /// Makes it; already_exists when it is there.
  static Result<CgroupGroup> make(int parent, const std::string& name);

  int fd() const { return fd_.get(); }
  /// The processes in it and in the groups below it (those of this pid namespace).
  Result<std::vector<pid_t>> processes() const;
  Result<bool> populated() const;

  /// Returns once every process stands still (cgroup.events says so; no polling by time), deadline_exceeded otherwise, in which
  /// case the group has been thawed again. Idempotent.
  Status freeze(std::int64_t deadline_ns) const;
  /// Returns once nothing of it is frozen any more. Idempotent.
  Status thaw(std::int64_t deadline_ns) const;
  /// Whether it was asked to be frozen and is.
  Result<bool> frozen() const;

  /// Ends every process: freezes, so that none can fork meanwhile, sends SIGKILL to each, and goes on until the group is
  /// empty; it stays frozen then. Never cgroup.kill. deadline_exceeded when something can't be killed (it sits in the kernel);
  /// the group has been thawed in that case.
  Status kill_all(std::int64_t deadline_ns) const;
  /// Waits until no process is left.
  Status wait_empty(std::int64_t deadline_ns) const;

 private:
  explicit CgroupGroup(UniqueFd fd) : fd_(std::move(fd)) {}
  Status wait_event(const std::string& key, std::int64_t value, std::int64_t deadline_ns) const;
  /// The processes by descriptor.
  Result<std::vector<UniqueFd>> hold_processes() const;
  /// Kills what is in the group now and waits for it; whether there was anything.
  Result<bool> kill_each(std::int64_t deadline_ns) const;
  UniqueFd fd_;
};

/// Removes parent/name and the groups below it; succeeds when it isn't there, failed_precondition while processes live in it.
Status remove_cgroup(int parent, const std::string& name);

}  // namespace harena
