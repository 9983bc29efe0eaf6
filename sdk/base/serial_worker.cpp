#include "sdk/base/serial_worker.hpp"

#include <utility>

#include "sdk/base/signal_mask.hpp"

namespace harena {

SerialWorker::SerialWorker() : thread_([this] { run(); }) {}

SerialWorker::~SerialWorker() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SerialWorker::add(Work work) {
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  changed_.notify_all();
}

void SerialWorker::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !working_; });
}

void SerialWorker::run() {
  block_all_signals();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    working_ = true;
    lock.unlock();
    work();
    work = nullptr;  // what it holds ends here, outside of the lock
    lock.lock();
    working_ = false;
    changed_.notify_all();
  }
}

}  // namespace harena
