#pragma once
// All processes that a command started, however they hid: the members of its cgroup. Where there is no cgroup (host
// mode), those that carry its mark: an inherited resource limit which has no effect of its own and which setsid,
// double forks, exec and a cleared environment leave alone.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "shim/sandbox.hpp"

namespace harena::shim {

/// In a child: RLIMIT_RTTIME (only real-time schedulers look at it) becomes `mark`, at least kFirstMark microseconds: 31 years.
inline constexpr std::uint64_t kFirstMark = 1'000'000'000'000'000;
void put_mark(std::uint64_t mark);

/// A cgroup below the sandbox's for one command after the other: making and removing one costs as much as a fork.
struct Leaf {
  std::string name;
  UniqueFd folder;
  /// cgroup.events: whether anything lives in it.
  UniqueFd events;
};

class LeafPool {
 public:
  static constexpr std::size_t kMaxKept = 64;
  explicit LeafPool(const Sandbox& sandbox) : sandbox_(sandbox) {}
  LeafPool(const LeafPool&) = delete;
  LeafPool& operator=(const LeafPool&) = delete;
  ~LeafPool();

  Result<Leaf> take();
  /// Empty and thawed, or it's the caller's still. Beyond kMaxKept it is removed.
  void put_back(Leaf leaf);
  void remove(const Leaf& leaf) const;
  const Sandbox& sandbox() const { return sandbox_; }

 private:
  const Sandbox& sandbox_;
  std::vector<Leaf> kept_;
  std::uint64_t made_ = 0;
};

class ProcessSet {
 public:
  /// A leaf of the pool, or a mark where the sandbox has no cgroup.
  static Result<ProcessSet> create(LeafPool& pool, std::uint64_t mark);
  ProcessSet(ProcessSet&&) = default;
  ProcessSet& operator=(ProcessSet&& other) noexcept;
  /// Gives the leaf back if it's empty; else it stays until the sandbox's cgroup is removed.
  ~ProcessSet();

  /// -1 without a cgroup.
  int cgroup_fd() const { return leaf_.folder.get(); }
  std::uint64_t mark() const { return leaf_.folder ? 0 : mark_; }
  bool empty() const;
  /// One round of: freeze, SIGKILL each, thaw. Repeat until empty(). Never cgroup.kill (roadmap 4).
  void kill_round();
  void signal_all(int signal);
  /// Gives the leaf back; false while it has members.
  bool release();

 private:
  ProcessSet() = default;
  void write_control(const char* file, const char* text) const;
  void signal_members(int signal) const;
  void signal_marked(int signal, bool& any) const;

  /// Outlives every command.
  LeafPool* pool_ = nullptr;
  int proc_ = -1;
  Leaf leaf_;
  std::uint64_t mark_ = 0;
};

}  // namespace harena::shim
