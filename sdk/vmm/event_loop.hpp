#pragma once
// EventLoop: one epoll, one thread. What waits for an answer calls run_until(), which serves everybody else meanwhile: steps of a verb
// read from top to bottom, and the tunnel's streams go on while one runs.
//
//   loop.watch(fd, EPOLLIN, [&](std::uint32_t events) { ... });
//   HARENA_TRY_STATUS(loop.run_until([&] { return answer.has_value(); }, deadline_ns, "an answer of QEMU"));
//
// Handlers may watch, unwatch and call run_until themselves; what must not start in the middle of another verb is queued by its owner
// (control_server.hpp).

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::vmm {

class EventLoop {
 public:
  using Handler = std::function<void(std::uint32_t events)>;
  static Result<std::unique_ptr<EventLoop>> make();

  /// `fd` is borrowed until unwatch(fd), which comes before its close.
  Status watch(int fd, std::uint32_t events, Handler handler);
  void unwatch(int fd);
  /// Runs handlers until `done` holds. deadline_exceeded names `what` at the deadline (CLOCK_MONOTONIC; 0: none).
  Status run_until(const std::function<bool()>& done, std::int64_t deadline_ns, const std::string& what);

 private:
  explicit EventLoop(UniqueFd epoll) : epoll_(std::move(epoll)) {}
  Status turn(int timeout_ms);
  UniqueFd epoll_;
  std::map<int, std::shared_ptr<Handler>> watches_;
};

}  // namespace harena::vmm
