#include "plugins/container/cpu_places.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace harena::container {

void CpuPlaces::take_back(const std::string& id) {
  const auto found = places_.find(id);
  if (found == places_.end()) return;
  for (const unsigned cpu : found->second.cpus) promised_[cpu] -= found->second.millicores_each;
  places_.erase(found);
}

void CpuPlaces::promise(const std::string& id, Place place) {
  for (const unsigned cpu : place.cpus) promised_[cpu] += place.millicores_each;
  places_[id] = std::move(place);
}

CpuSet CpuPlaces::place(const std::string& id, std::int64_t cpu_millicores, const CpuSet& allowed) {
  std::lock_guard lock(mutex_);
  const auto before = places_.find(id);
  const CpuSet had = before == places_.end() ? CpuSet() : before->second.cpus;
  take_back(id);
  const auto count = static_cast<std::size_t>((cpu_millicores + 999) / 1000);
  if (count == 0 || allowed.empty()) return allowed;
  std::vector<unsigned> order(allowed.begin(), allowed.end());
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return std::tuple(promised_[a], had.count(a) == 0) < std::tuple(promised_[b], had.count(b) == 0);
  });
  order.resize(std::min(count, order.size()));
  CpuSet chosen(order.begin(), order.end());
  promise(id, {chosen, cpu_millicores / static_cast<std::int64_t>(chosen.size())});
  return chosen;
}

void CpuPlaces::adopt(const std::string& id, const CpuSet& cpus) {
  constexpr std::int64_t kWhole = 1000;
  std::lock_guard lock(mutex_);
  if (places_.count(id) == 0 && !cpus.empty()) promise(id, {cpus, kWhole});
}

void CpuPlaces::forget(const std::string& id) {
  std::lock_guard lock(mutex_);
  take_back(id);
}

}  // namespace harena::container
