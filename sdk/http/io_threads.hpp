#pragma once
// The I/O threads of a process: one event loop each. A stream lives on one loop for its whole life, so that its
// coroutines need no locks; a thousand idle streams cost memory and no thread.

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace harena::http {

class IoThreads {
 public:
  /// Starts `threads` (at least 1) event loops. They never run anything that blocks: see blocking() in task.hpp.
  explicit IoThreads(std::size_t threads);
  /// stop().
  ~IoThreads();
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  std::size_t size() const { return loops_.size(); }
  /// The i-th loop. Precondition: i < size().
  boost::asio::io_context& at(std::size_t i) { return *loops_[i]; }
  /// Round robin. Thread-safe.
  boost::asio::io_context& next() { return at(next_++ % size()); }
  /// True on one of these threads. Thread-safe.
  bool inside() const;

  /// Ends the loops and joins the threads; what still waits on them is destroyed with this object. Idempotent.
  /// Not to be called on one of these threads.
  void stop();

 private:
  using WorkGuard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;
  std::vector<std::unique_ptr<boost::asio::io_context>> loops_;
  std::vector<WorkGuard> guards_;
  std::vector<std::thread> threads_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace harena::http
