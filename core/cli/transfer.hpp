#pragma once
// Copying between this machine and a sandbox: files in parallel, with progress.

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "sdk/client/files.hpp"

namespace harena::cli {

/// Counts what has gone over the wire and shows it in place, a few times a second, where stderr is a terminal. Thread-safe.
class TransferMeter {
 public:
  explicit TransferMeter(bool shown) : shown_(shown) {}
  ~TransferMeter();
  void expect(std::int64_t files, std::int64_t bytes);
  void add_bytes(std::int64_t count);
  void add_file();
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

struct TransferPlan {
  client::Client& client;
  std::string sandbox;
  int parallel = 8;
  TransferMeter& meter;
};

/// `source` (a file, or a folder's content) becomes `target`. Modes and symlinks are kept; links are never followed.
Status upload(const TransferPlan& plan, const std::string& source, const std::string& target);
/// The other way. Modes lose their set-user-id bits; nothing is written outside `target`.
Status download(const TransferPlan& plan, const client::FileStat& source, const std::string& target);

/// `work(client, index)` for each index below `count`, on up to `plan.parallel` threads with a connection each. The first
/// failure ends it and is returned.
Status in_parallel(const TransferPlan& plan, std::size_t count,
                   const std::function<Status(client::Client&, std::size_t)>& work);

}  // namespace harena::cli
