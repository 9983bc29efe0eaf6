#include "plugins/mcp/calls_under_way.hpp"

namespace harena::mcp {

bool CallUnderWay::cancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

void CallUnderWay::set_undo(std::string target) {
  std::lock_guard lock(mutex_);
  undo_ = std::move(target);
}

std::string CallUnderWay::cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  return undo_;
}

CallsUnderWay::Entry::Entry(CallsUnderWay& owner, std::string key) : owner_(owner), key_(std::move(key)) {
  std::lock_guard lock(owner_.mutex_);
  owner_.calls_[key_] = call_;
}

CallsUnderWay::Entry::~Entry() {
  std::lock_guard lock(owner_.mutex_);
  const auto found = owner_.calls_.find(key_);
  if (found != owner_.calls_.end() && found->second == call_) owner_.calls_.erase(found);
}

std::shared_ptr<CallUnderWay> CallsUnderWay::find(const std::string& key) const {
  std::lock_guard lock(mutex_);
  const auto found = calls_.find(key);
  return found == calls_.end() ? nullptr : found->second;
}

}  // namespace harena::mcp
