#pragma once
// One thread that calls back at given times: for sandboxes that end by themselves.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace harena::fake {

/// Thread-safe. The callback runs on the timer's thread; the destructor joins it. The thread starts with the first
/// alarm, so that an instance without any has none.
class ExitTimer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ExitTimer(std::function<void(const std::string& id)> on_alarm) : on_alarm_(std::move(on_alarm)) {}
  ~ExitTimer();
  ExitTimer(const ExitTimer&) = delete;
  ExitTimer& operator=(const ExitTimer&) = delete;

  void set(const std::string& id, Clock::time_point when);
  void cancel(const std::string& id);

 private:
  void run();
  std::function<void(const std::string&)> on_alarm_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Clock::time_point> alarms_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace harena::fake
