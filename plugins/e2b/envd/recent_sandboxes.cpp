#include "plugins/e2b/envd/recent_sandboxes.hpp"

namespace harena::e2b {

std::optional<SandboxAccess> RecentSandboxes::find(const std::string& id) const {
  const auto now_ms = clock_.monotonic_ns() / 1'000'000;
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(id);
  if (found == kept_.end() || found->second.since_ms + kFreshMs < now_ms) return std::nullopt;
  return found->second.sandbox;
}

void RecentSandboxes::keep(const SandboxAccess& sandbox) {
  if (sandbox.state != "running") return;
  const auto now_ms = clock_.monotonic_ns() / 1'000'000;
  const std::lock_guard lock(mutex_);
  make_room(now_ms);
  kept_[sandbox.id] = {sandbox, now_ms};
}

void RecentSandboxes::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  kept_.erase(id);
}

void RecentSandboxes::make_room(std::int64_t now_ms) {
  if (kept_.size() < kMaxKept) return;
  std::erase_if(kept_, [now_ms](const auto& one) { return one.second.since_ms + kFreshMs < now_ms; });
  if (kept_.size() >= kMaxKept) kept_.clear();
}

}  // namespace harena::e2b
