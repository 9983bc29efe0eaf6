#pragma once
// How far a copy is.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace harena::cli {

/// Counts what has gone over the wire and shows it in place, a few times a second, where stderr is a terminal. Thread-safe.
class TransferMeter {
 public:
  explicit TransferMeter(bool shown) : shown_(shown) {}
  ~TransferMeter();
  void expect(std::int64_t files, std::int64_t bytes);
  void add_bytes(std::int64_t count);
  void add_file();
  /// A part that has to be done again.
  void take_back(std::int64_t files, std::int64_t bytes);
  std::int64_t files() const { return done_files_; }
  std::int64_t bytes() const { return done_bytes_; }

 private:
  void show(bool always);
  const bool shown_;
  std::atomic<std::int64_t> files_{0}, total_bytes_{0}, done_files_{0}, done_bytes_{0};
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_{};
  bool line_open_ = false;
};

}  // namespace harena::cli
