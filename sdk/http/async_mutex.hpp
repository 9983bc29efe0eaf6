#pragma once
// AsyncMutex: one coroutine at a time, on one executor (an IoThreads loop). Not for threads.

#include "sdk/http/async_event.hpp"

namespace harena::http {

class AsyncMutex {
 public:
  class Guard {
   public:
    explicit Guard(AsyncMutex& mutex) : mutex_(&mutex) {}
    Guard(Guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Guard& operator=(Guard&&) = delete;
    ~Guard() {
      if (mutex_ != nullptr) mutex_->unlock();
    }

   private:
    AsyncMutex* mutex_;
  };

  /// Waits for its turn; cancellable. The mutex must outlive the guard.
  Task<Guard> lock() {
    while (locked_) {
      const auto seen = released_.generation();
      co_await released_.wait_past(seen);
    }
    locked_ = true;
    co_return Guard(*this);
  }

 private:
  void unlock() {
    locked_ = false;
    released_.notify();
  }

  bool locked_ = false;
  AsyncEvent released_;
};

}  // namespace harena::http
