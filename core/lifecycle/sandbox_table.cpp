#include "core/lifecycle/sandbox_table.hpp"

namespace harena {

void SandboxTable::insert(const SandboxId& id, LivePtr live) {
  std::unique_lock lock(mutex_);
  live_.insert_or_assign(id, std::move(live));
}

void SandboxTable::erase(const SandboxId& id) {
  std::unique_lock lock(mutex_);
  live_.erase(id);
}

LivePtr SandboxTable::find(const SandboxId& id) const {
  std::shared_lock lock(mutex_);
  const auto it = live_.find(id);
  return it == live_.end() ? nullptr : it->second;
}

std::vector<LivePtr> SandboxTable::all() const {
  std::shared_lock lock(mutex_);
  std::vector<LivePtr> list;
  list.reserve(live_.size());
  for (const auto& [id, live] : live_) list.push_back(live);
  return list;
}

std::vector<SandboxId> SandboxTable::ids() const {
  std::shared_lock lock(mutex_);
  std::vector<SandboxId> list;
  list.reserve(live_.size());
  for (const auto& [id, live] : live_) list.push_back(id);
  return list;
}

std::size_t SandboxTable::size() const {
  std::shared_lock lock(mutex_);
  return live_.size();
}

}  // namespace harena
