#include "plugins/container/standstill.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "sdk/support/process.hpp"

namespace harena::container {
namespace {
constexpr std::int64_t kThawPatienceNs = 10'000'000'000;
}

Result<Standstill> Standstill::begin(CgroupGroup group, std::int64_t deadline_ns) {
  HARENA_TRY(const bool was_frozen, group.frozen());
  if (!was_frozen) HARENA_TRY_STATUS(group.freeze(deadline_ns));
  return Standstill(std::move(group), was_frozen);
}

Standstill::~Standstill() {
  if (group_ && !was_frozen_) (void)group_->thaw(monotonic_now_ns() + kThawPatienceNs);
}

Result<bool> Standstill::only(pid_t init) const {
  HARENA_TRY(const auto pids, group_->processes());
  return std::all_of(pids.begin(), pids.end(), [init](pid_t pid) { return pid == init; });
}

Result<std::vector<UniqueFd>> Standstill::others(pid_t init) const {
  HARENA_TRY(const auto pids, group_->processes());
  std::vector<std::pair<pid_t, UniqueFd>> opened;
  for (pid_t pid : pids) {
    if (pid == init) continue;
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (fd) opened.emplace_back(pid, std::move(fd));
  }
  // Only what is still listed now that it is held: a pid that ended in between may be another's.
  HARENA_TRY(const auto now, group_->processes());
  std::vector<UniqueFd> found;
  for (auto& [pid, fd] : opened) {
    if (std::find(now.begin(), now.end(), pid) != now.end()) found.push_back(std::move(fd));
  }
  return found;
}

Status Standstill::end_others(pid_t init, std::int64_t deadline_ns) const {
  while (true) {
    HARENA_TRY(const auto asked, others(init));
    HARENA_TRY(const bool alone, only(init));
    if (alone) return {};
    for (const auto& one : asked) (void)signal_process(one.get(), SIGKILL);
    for (const auto& one : asked) {
      if (wait_process_end(one.get(), deadline_ns)) continue;
      return make_error(ErrorCode::deadline_exceeded, "a process of the sandbox can't be ended: it sits in the kernel");
    }
  }
}

}  // namespace harena::container
