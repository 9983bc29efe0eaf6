#include "plugins/container/standstill.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"

namespace harena::container {
namespace {

std::string mark_in(const std::string& state_dir) { return state_dir + "/standstill"; }

}  // namespace

Result<Standstill> Standstill::begin(CgroupGroup group, const std::string& state_dir) {
  // What was asked for, not what is: a standstill that has just ended may still be thawing.
  HARENA_TRY(const auto asked, read_file_at(group.fd(), "cgroup.freeze"));
  const bool was_frozen = asked.starts_with('1');
  Standstill still(std::move(group), state_dir, was_frozen);
  if (was_frozen) return still;
  HARENA_TRY_STATUS(create_file_at(AT_FDCWD, mark_in(state_dir), "", 0600));
  HARENA_TRY_STATUS(write_file_at(still.group_->fd(), "cgroup.freeze", "1"));
  return still;
}

/// A process that only waits stands still within microseconds, and cgroup.events would say so up to 10 ms later: it is asked first.
Status Standstill::settle(std::int64_t deadline_ns) const {
  constexpr int kLooks = 40;
  constexpr timespec kPause{0, 100'000};
  for (int i = 0; i < kLooks; ++i) {
    HARENA_TRY(const bool frozen, group_->frozen());
    if (frozen) return {};
    ::nanosleep(&kPause, nullptr);
  }
  return group_->freeze(deadline_ns);
}

Standstill::~Standstill() {
  if (!group_ || was_frozen_) return;
  (void)write_file_at(group_->fd(), "cgroup.freeze", "0");  // nobody has to wait until everything runs
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
