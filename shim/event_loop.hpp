#pragma once
// One thread, one epoll, timers: everything in the shim happens in a turn of this loop, and nothing in a turn blocks.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sdk/base/clock.hpp"
#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::shim {

class EventLoop {
 public:
  using Handler = std::function<void(std::uint32_t events)>;
  /// Never reused, so that an event of this turn can't reach a successor on the same descriptor. 0: none.
  using Id = std::uint64_t;

  static Result<std::unique_ptr<EventLoop>> create(const Clock& clock);

  /// Level-triggered. The descriptor is borrowed: forget() before it is closed.
  Id watch(int fd, std::uint32_t events, Handler handler);
  void modify(Id id, std::uint32_t events);
  /// Takes 0 and ids that are gone; sets the id to 0.
  void forget(Id& id);

  Id after_ms(std::int64_t ms, std::function<void()> action);
  void cancel(Id& timer);
  /// At the end of this turn: the way to destroy the object whose method is running.
  void defer(std::function<void()> action) { deferred_.push_back(std::move(action)); }

  /// Drops timers and deferred actions, and what they hold.
  void forget_all();
  void run();
  void stop() { stopped_ = true; }
  const Clock& clock() const { return clock_; }

 private:
  EventLoop(UniqueFd epoll, const Clock& clock) : epoll_(std::move(epoll)), clock_(clock) {}
  struct Watch {
    int fd;
    std::shared_ptr<Handler> handler;
  };
  int wait_ms() const;
  void run_timers();
  void run_deferred();

  UniqueFd epoll_;
  const Clock& clock_;
  std::unordered_map<Id, Watch> watches_;
  std::map<std::pair<std::int64_t, Id>, std::function<void()>> timers_;
  std::unordered_map<Id, std::int64_t> timer_deadlines_;
  std::vector<std::function<void()>> deferred_;
  Id next_id_ = 1;
  bool stopped_ = false;
};

}  // namespace harena::shim
