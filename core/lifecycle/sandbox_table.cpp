#include "core/lifecycle/sandbox_table.hpp"

namespace harena {

void SandboxTable::insert(const SandboxId& id, LivePtr live) {
  const Resources promised = live->snapshot().promised;
  std::unique_lock lock(mutex_);
  add(id, std::move(live), promised);
}

Status SandboxTable::admit(const Admission& admission, const SandboxId& id, LivePtr live) {
  const Resources asked = live->snapshot().promised;
  std::unique_lock lock(mutex_);
  HARENA_TRY_STATUS(admission.admit(static_cast<std::int64_t>(live_.size()), promised_, asked));
  add(id, std::move(live), asked);
  return ok_status();
}

void SandboxTable::add(const SandboxId& id, LivePtr live, const Resources& promised) {
  if (!live_.emplace(id, std::move(live)).second) return;
  promised_.cpu_milli += promised.cpu_milli;
  promised_.memory_bytes += promised.memory_bytes;
}

void SandboxTable::erase(const SandboxId& id) {
  std::unique_lock lock(mutex_);
  const auto it = live_.find(id);
  if (it == live_.end()) return;
  const Resources promised = it->second->snapshot().promised;
  promised_.cpu_milli -= promised.cpu_milli;
  promised_.memory_bytes -= promised.memory_bytes;
  live_.erase(it);
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

Resources SandboxTable::promised() const {
  std::shared_lock lock(mutex_);
  return promised_;
}

std::size_t SandboxTable::size() const {
  std::shared_lock lock(mutex_);
  return live_.size();
}

}  // namespace harena
