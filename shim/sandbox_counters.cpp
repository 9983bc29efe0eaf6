#include "shim/sandbox_counters.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

namespace harena::shim {
namespace {

UniqueFd open_in(int folder, const char* name) { return UniqueFd(::openat(folder, name, O_RDONLY | O_CLOEXEC)); }

std::uint64_t number_in(const UniqueFd& file) { return file ? std::strtoull(read_small_file(file.get()).c_str(), nullptr, 10) : 0; }

std::uint64_t value_in(const UniqueFd& file, std::string_view key) { return file ? flat_value(read_small_file(file.get()), key) : 0; }

}  // namespace

std::string read_small_file(int fd) {
  std::array<char, 4096> buffer;
  auto length = ::pread(fd, buffer.data(), buffer.size(), 0);
  return std::string(buffer.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
}

std::uint64_t flat_value(const std::string& text, std::string_view key) {
  std::string needle = std::string(key) + " ";
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, needle.size(), needle) == 0) return std::strtoull(text.c_str() + at + needle.size(), nullptr, 10);
    auto end = text.find('\n', at);
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return 0;
}

void SandboxCounters::add_group(int folder) {
  groups_.push_back({open_in(folder, "memory.events"), open_in(folder, "memory.oom_control"), open_in(folder, "memory.failcnt"),
                     open_in(folder, "memory.memsw.max_usage_in_bytes"), open_in(folder, "memory.memsw.limit_in_bytes"),
                     open_in(folder, "pids.current"), open_in(folder, "pids.max"), open_in(folder, "pids.events")});
}

std::uint64_t SandboxCounters::oom_kills() const {
  std::uint64_t count = 0;
  for (const auto& group : groups_) count += value_in(group.memory_events, "oom_kill") + value_in(group.oom_control, "oom_kill");
  return count;
}

std::uint64_t SandboxCounters::memory_limit_hits() const {
  std::uint64_t count = 0;
  for (const auto& group : groups_) count += value_in(group.memory_events, "oom") + number_in(group.failcnt);
  return count;
}

bool SandboxCounters::swap_limit_was_reached() const {
  // A charge is tried in batches of 64 pages first, so the peak may stay that far below.
  constexpr std::uint64_t kBatchBytes = 64 * 4096;
  return std::any_of(groups_.begin(), groups_.end(), [](const Group& group) {
    return group.memsw_limit && number_in(group.memsw_peak) + kBatchBytes >= number_in(group.memsw_limit);
  });
}

std::uint64_t SandboxCounters::forks_refused() const {
  std::uint64_t count = 0;
  for (const auto& group : groups_) count += value_in(group.pids_events, "max");
  return count;
}

std::int64_t SandboxCounters::room() const {
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  for (const auto& group : groups_) {
    if (!group.pids_current || !group.pids_max) continue;
    std::string max = read_small_file(group.pids_max.get());
    if (max.empty() || max.starts_with("max")) continue;
    auto limit = std::strtoll(max.c_str(), nullptr, 10);
    room = std::min<std::int64_t>(room, limit - static_cast<std::int64_t>(number_in(group.pids_current)));
  }
  return room;
}

bool SandboxCounters::pids_full() const { return room() <= 0; }
bool SandboxCounters::pids_exceeded() const { return room() < 0; }

std::vector<std::pair<int, int>> SandboxCounters::process_counts() const {
  std::vector<std::pair<int, int>> all;
  for (const auto& group : groups_) {
    if (group.pids_current && group.pids_max) all.emplace_back(group.pids_current.get(), group.pids_max.get());
  }
  return all;
}

std::vector<int> SandboxCounters::descriptors() const {
  std::vector<int> all;
  for (const auto& group : groups_) {
    for (const auto* fd : {&group.pids_current, &group.pids_max}) {
      if (*fd) all.push_back(fd->get());
    }
  }
  return all;
}

}  // namespace harena::shim
