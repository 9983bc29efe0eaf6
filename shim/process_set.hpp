#pragma once
// All processes that a command started, however they hid: the members of its cgroup. Where there is no cgroup (host
// mode), those that carry its mark: an inherited resource limit which has no effect of its own and which setsid,
// double forks, exec and a cleared environment leave alone.

#include <cstdint>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "shim/sandbox.hpp"

namespace harena::shim {

/// In a child: RLIMIT_RTTIME (only real-time schedulers look at it) becomes `mark`, at least kFirstMark microseconds: 31 years.
inline constexpr std::uint64_t kFirstMark = 1'000'000'000'000'000;
void put_mark(std::uint64_t mark);

class ProcessSet {
 public:
  /// A fresh leaf `name` in the sandbox's cgroup, or a mark.
  static Result<ProcessSet> create(const Sandbox& sandbox, const std::string& name, std::uint64_t mark);
  ProcessSet(ProcessSet&&) = default;
  ProcessSet& operator=(ProcessSet&&) = default;
  /// Removes the leaf if it's empty.
  ~ProcessSet();

  /// -1 without a cgroup.
  int cgroup_fd() const { return leaf_.get(); }
  std::uint64_t mark() const { return leaf_ ? 0 : mark_; }
  bool empty() const;
  /// One round of: freeze, SIGKILL each, thaw. Repeat until empty(). Never cgroup.kill (roadmap 4).
  void kill_round();
  void signal_all(int signal);
  std::uint64_t oom_kills() const;
  /// Removes the leaf; false while it has members.
  bool remove();

 private:
  ProcessSet() = default;
  void write_control(const char* file, const char* text) const;
  void signal_members(int signal) const;
  void signal_marked(int signal, bool& any) const;

  /// Borrowed from the sandbox, which outlives every command.
  int parent_ = -1;
  int proc_ = -1;
  UniqueFd leaf_;
  std::string name_;
  std::uint64_t mark_ = 0;
};

}  // namespace harena::shim
