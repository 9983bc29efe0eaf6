#pragma once
// SerialWorker: does things one after the other on a thread of its own, for what an answer needn't wait for.
//
//   SerialWorker worker;
//   worker.add([] { remove_what_is_left(); });
//
// Nothing that was added is dropped: the destructor waits for all of it. What must survive a crash needs a journal besides.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace harena {

/// Thread-safe. Work may add more work, but must not throw and not wait for this worker.
class SerialWorker {
 public:
  using Work = std::function<void()>;
  SerialWorker();
  ~SerialWorker();
  SerialWorker(const SerialWorker&) = delete;
  SerialWorker& operator=(const SerialWorker&) = delete;

  void add(Work work);
  /// Returns once nothing is left to be done. [blocking]
  void wait_idle();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool working_ = false, ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace harena
