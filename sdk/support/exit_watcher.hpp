#pragma once
// One thread that sleeps until the process that keeps a sandbox (its shim, its machine) ends, and then says whose it was.

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {

/// Thread-safe. The callback runs on the watcher's thread, once for each watch, and may call forget.
class ExitWatcher {
 public:
  using OnExit = std::function<void(const std::string& sandbox_id)>;
  explicit ExitWatcher(OnExit on_exit);
  ~ExitWatcher();
  ExitWatcher(const ExitWatcher&) = delete;
  ExitWatcher& operator=(const ExitWatcher&) = delete;

  Status watch(const std::string& sandbox_id, UniqueFd pidfd);
  /// Afterwards no callback for this id begins.
  void forget(const std::string& sandbox_id);

 private:
  void run();
  const OnExit on_exit_;
  UniqueFd epoll_;
  UniqueFd stop_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::pair<std::string, UniqueFd>> watched_;
  std::uint64_t next_ = 1;
  std::thread thread_;
};

}  // namespace harena
