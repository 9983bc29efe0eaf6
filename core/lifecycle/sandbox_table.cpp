#include "core/lifecycle/sandbox_table.hpp"

#include <algorithm>

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

Status SandboxTable::change_promise(const Admission& admission, const Resources& from, const Resources& to) {
  const Resources by{to.cpu_milli - from.cpu_milli, to.memory_bytes - from.memory_bytes};
  std::unique_lock lock(mutex_);
  if (by.cpu_milli > 0 || by.memory_bytes > 0) {
    const Resources more{std::max<std::int64_t>(0, by.cpu_milli), std::max<std::int64_t>(0, by.memory_bytes)};
    HARENA_TRY_STATUS(admission.grow(promised_, more));
  }
  promised_.cpu_milli += by.cpu_milli;
  promised_.memory_bytes += by.memory_bytes;
  return ok_status();
}

void SandboxTable::restore_promise(const Resources& from, const Resources& to) {
  std::unique_lock lock(mutex_);
  promised_.cpu_milli += to.cpu_milli - from.cpu_milli;
  promised_.memory_bytes += to.memory_bytes - from.memory_bytes;
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
