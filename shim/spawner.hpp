#pragma once
// The spawner: a process beside the shim that makes the processes of commands. It was forked while the shim was small and stays so:
// a fork copies the page tables of its maker and an exec throws them away again, and the shim's grow with every result that it
// keeps. Its children are the shim's (CLONE_PARENT), which alone waits for them.
//
// It stays outside of the sandbox: only its children are born in the sandbox's pid namespace.

#include <cstdint>
#include <functional>

#include "sdk/session/command_messages.hpp"
#include "shim/command_child.hpp"
#include "shim/reaper.hpp"
#include "shim/spawn.hpp"

namespace harena::shim {

/// What a new process gets beside its request.
struct SpawnOrder {
  ChildStdio stdio;
  /// Where it reports, and the spawner before it: Report::born with the pid in the shim's own pid namespace, or an error.
  int channel = -1;
  /// Its v2 cgroup; -1: the shim's.
  int cgroup = -1;
  /// As in process_set.hpp.
  std::uint64_t mark = 0;
};

class Spawner {
 public:
  explicit Spawner(const Sandbox& sandbox) : sandbox_(sandbox) {}
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;
  /// Ends the process.
  ~Spawner();

  /// Forks it. As early as possible: what the caller has in memory, it has.
  Status start();
  /// Starts another when it dies (somebody killed it), or at the next order if that failed. Orders that it held fail: their
  /// channels close.
  void watch(Reaper& reaper);
  /// Returns when the order is on its way; descriptors are borrowed. One whose death wasn't seen yet is replaced. unavailable
  /// (infrastructure) without a spawner.
  Status spawn(const session::StartRequest& request, const SpawnOrder& order);

 private:
  void replace();

  const Sandbox& sandbox_;
  UniqueFd socket_;
  Child process_;
  /// From watch() on.
  Reaper* reaper_ = nullptr;
};

}  // namespace harena::shim
