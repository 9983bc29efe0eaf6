#pragma once
// Temporary names of uploads, remembered by the shim for the case that a worker dies before it renamed or removed its file: killed by the
// OOM killer, by the shim, by the machine's operator. The worker says so before it makes the name; it has one at a time.

#include <memory>
#include <string>

#include "shim/event_loop.hpp"
#include "shim/reaper.hpp"
#include "shim/sandbox.hpp"

namespace harena::shim {

/// In a worker, before `name` is made in `folder` (O_PATH). `line` is WorkerChannel::leftovers().
Status announce_leftover(int line, int folder, const std::string& name);

/// The shim's side: one an operation, shared with the reaper's callback, for the operation may be gone before its worker.
class Leftovers {
 public:
  static Result<std::shared_ptr<Leftovers>> create(EventLoop& loop);
  ~Leftovers();
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

  /// For the worker, open until close_worker_side().
  int worker_side() const { return worker_side_.get(); }
  void close_worker_side() { worker_side_.reset(); }
  /// The worker is dead and didn't end in order: removes what it left. In a process of its own, for file systems can block.
  void remove(const Sandbox& sandbox, Reaper& reaper);

 private:
  explicit Leftovers(EventLoop& loop) : loop_(loop) {}
  void take();

  EventLoop& loop_;
  EventLoop::Id watch_ = 0;
  UniqueFd line_;
  UniqueFd worker_side_;
  UniqueFd folder_;
  std::string name_;
};

}  // namespace harena::shim
