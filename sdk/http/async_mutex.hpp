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

  /// Waits for its turn; cancellable. The mutex must outlive the guard. Who comes while others wait, comes after them: one who
  /// locks again and again without a pause keeps nobody out.
  Task<Guard> lock() {
    if (!locked_ && waiting_ == 0) {
      locked_ = true;
      co_return Guard(*this);
    }
    Waiting place(*this);
    do {
      const auto seen = released_.generation();
      co_await released_.wait_past(seen);
    } while (locked_);
    place.got_it = true;
    locked_ = true;
    co_return Guard(*this);
  }

 private:
  /// Of one who is cancelled, the others hear: it may have been the one whose turn it was.
  struct Waiting {
    explicit Waiting(AsyncMutex& of) : mutex(of) { ++mutex.waiting_; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() {
      --mutex.waiting_;
      if (!got_it) mutex.released_.notify();
    }
    AsyncMutex& mutex;
    bool got_it = false;
  };

  void unlock() {
    locked_ = false;
    released_.notify();
  }

  bool locked_ = false;
  std::size_t waiting_ = 0;
  AsyncEvent released_;
};

}  // namespace harena::http
