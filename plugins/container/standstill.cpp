#include "plugins/container/standstill.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"

namespace harena::container {
namespace {

constexpr std::int64_t kThawPatienceNs = 10'000'000'000;

std::string mark_in(const std::string& state_dir) { return state_dir + "/standstill"; }

}  // namespace

Result<Standstill> Standstill::begin(CgroupGroup group, const std::string& state_dir, std::int64_t deadline_ns) {
  HARENA_TRY(const bool was_frozen, group.frozen());
  Standstill still(std::move(group), state_dir, was_frozen);
  if (was_frozen) return still;
  HARENA_TRY_STATUS(create_file_at(AT_FDCWD, mark_in(state_dir), "", 0600));
  HARENA_TRY_STATUS(still.group_->freeze(deadline_ns));
  return still;
}

Standstill::~Standstill() {
  if (!group_ || was_frozen_) return;
  (void)group_->thaw(monotonic_now_ns() + kThawPatienceNs);
  forget(state_dir_);
}

Status Standstill::recover(const CgroupGroup& group, const std::string& state_dir, std::int64_t deadline_ns) {
  if (::access(mark_in(state_dir).c_str(), F_OK) != 0) return {};
  HARENA_TRY_STATUS(group.thaw(deadline_ns));
  forget(state_dir);
  return {};
}

void Standstill::forget(const std::string& state_dir) { ::unlink(mark_in(state_dir).c_str()); }

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
