#include "plugins/fake/exit_timer.hpp"

#include <algorithm>

namespace harena::fake {

ExitTimer::~ExitTimer() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ExitTimer::set(const std::string& id, Clock::time_point when) {
  std::lock_guard lock(mutex_);
  alarms_[id] = when;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

void ExitTimer::cancel(const std::string& id) {
  std::lock_guard lock(mutex_);
  alarms_.erase(id);
}

void ExitTimer::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    auto next = std::ranges::min_element(alarms_, {}, [](const auto& alarm) { return alarm.second; });
    if (next == alarms_.end()) {
      changed_.wait(lock);
    } else if (auto when = next->second; when > Clock::now()) {
      changed_.wait_until(lock, when);
    } else {
      std::string id = next->first;
      alarms_.erase(next);
      lock.unlock();
      on_alarm_(id);
      lock.lock();
    }
  }
}

}  // namespace harena::fake
