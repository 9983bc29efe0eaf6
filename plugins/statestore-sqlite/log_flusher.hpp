#pragma once
// LogFlusher: brings to the disk what relaxed transactions have left in the page cache, soon, on a thread of its own.
//
// A synced commit is two orders of magnitude dearer than one that ends in the page cache, and records of what a power cut ends
// too needn't wait for it (HARENA_STATE_RELAXED). But "within a second" is a promise, and nobody else keeps it on an idle store.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace harena::sqlite {

/// Thread-safe.
class LogFlusher {
 public:
  /// `database` is the path of the database; its write-ahead log is beside it.
  explicit LogFlusher(const std::string& database);
  /// Flushes what is still to be.
  ~LogFlusher();
  LogFlusher(const LogFlusher&) = delete;
  LogFlusher& operator=(const LogFlusher&) = delete;

  /// A commit was left in the page cache: it is on the disk within kDelay and the time of a sync.
  void left_unsynced();
  /// A synced commit took all before it along.
  void synced();
  /// A flush has failed: from then on only synced commits tell the truth, and report the error.
  bool failed() const;

 private:
  void run();
  bool wait_for_work();
  void flush();

  const std::string log_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool pending_ = false, ending_ = false, failed_ = false;
  std::thread thread_;
};

}  // namespace harena::sqlite
