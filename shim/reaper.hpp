#pragma once
// The only place that waits for children: commands, workers, the sandbox's init, and orphans that fell to the shim.

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <unordered_map>

#include "shim/event_loop.hpp"

namespace harena::shim {

struct Death {
  /// As of wait(2).
  int status = 0;
  rusage usage{};
  /// Killed before it ran a program of its own.
  bool before_exec = false;
};

class Reaper {
 public:
  using Callback = std::function<void(const Death&)>;
  /// Blocks SIGCHLD and reads it from a descriptor.
  static Result<std::unique_ptr<Reaper>> create(EventLoop& loop);
  ~Reaper();

  /// One callback a pid; called once, from the loop. Also when the process died since expect(): then false, and the number may be another's.
  bool on_death(pid_t pid, Callback callback);
  /// A child is being made elsewhere; until settled() the dead are remembered.
  void expect() { ++expected_; }
  /// Its pid is known (on_death was called), or there is none.
  void settled();
  /// Whether this child is dead, and waits to be reaped, as one that was killed before its exec.
  bool died_before_exec(pid_t pid) const;
  /// Drops all callbacks: what they hold must not outlive its owner.
  void forget_all() { callbacks_.clear(); }

 private:
  explicit Reaper(EventLoop& loop) : loop_(loop) {}
  void reap();

  EventLoop& loop_;
  UniqueFd signals_;
  UniqueFd proc_;
  EventLoop::Id watch_ = 0;
  std::unordered_map<pid_t, Callback> callbacks_;
  std::unordered_map<pid_t, Death> unclaimed_;
  std::size_t expected_ = 0;
};

}  // namespace harena::shim
