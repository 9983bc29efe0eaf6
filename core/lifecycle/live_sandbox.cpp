#include "core/lifecycle/live_sandbox.hpp"

namespace harena {

Sandbox LiveSandbox::snapshot() const {
  std::lock_guard lock(record_mutex_);
  return record_;
}

SandboxState LiveSandbox::state() const {
  std::lock_guard lock(record_mutex_);
  return record_.state;
}

void LiveSandbox::replace(Sandbox record) {
  std::lock_guard lock(record_mutex_);
  record_ = std::move(record);
}

std::optional<Error> LiveSandbox::wait_created() {
  std::unique_lock lock(record_mutex_);
  created_.wait(lock, [&] { return creation_done_; });
  return creation_error_;
}

void LiveSandbox::finish_creation(std::optional<Error> error) {
  {
    std::lock_guard lock(record_mutex_);
    creation_done_ = true;
    creation_error_ = std::move(error);
  }
  created_.notify_all();
}

void LiveSandbox::begin_use(std::int64_t now_ns) {
  ++uses_;
  last_used_ns_ = now_ns;
}

void LiveSandbox::end_use(std::int64_t now_ns) {
  last_used_ns_ = now_ns;
  --uses_;
}

std::int64_t LiveSandbox::idle_ns(std::int64_t now_ns) const {
  return uses_ > 0 ? 0 : now_ns - last_used_ns_;
}

}  // namespace harena
