#include "plugins/e2b/warm/shelf.hpp"

#include <algorithm>

namespace harena::e2b {

namespace {

/// Twice what a pool can hold, and more than are taken while one list is answered.
constexpr std::size_t kRemembered = 1'000;

bool has(const auto& list, const std::string& id) { return std::find(list.begin(), list.end(), id) != list.end(); }

}  // namespace

std::optional<std::string> Shelf::take() {
  std::lock_guard lock(mutex_);
  if (ids_.empty()) return std::nullopt;
  auto id = std::move(ids_.front());
  ids_.pop_front();
  if (taken_.size() == kRemembered) taken_.erase(taken_.begin());
  taken_.push_back(id);
  ++count_;
  return id;
}

void Shelf::put(const std::string& id) {
  std::lock_guard lock(mutex_);
  if (!has(ids_, id)) ids_.push_back(id);
}

void Shelf::replace(const std::vector<std::string>& ready, std::uint64_t list_began) {
  std::lock_guard lock(mutex_);
  const auto since = static_cast<std::size_t>(std::min<std::uint64_t>(count_ - list_began, taken_.size()));
  const std::set<std::string> away(taken_.end() - static_cast<std::ptrdiff_t>(since), taken_.end());
  std::erase_if(ids_, [&](const std::string& id) { return !has(ready, id); });
  for (const auto& id : ready) {
    if (!has(ids_, id) && !away.contains(id)) ids_.push_back(id);
  }
}

std::uint64_t Shelf::taken() const {
  std::lock_guard lock(mutex_);
  return count_;
}

std::size_t Shelf::size() const {
  std::lock_guard lock(mutex_);
  return ids_.size();
}

}  // namespace harena::e2b
