#include "shim/light_steps.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <climits>

#include "sdk/session/frame.hpp"
#include "shim/light_child.hpp"
#include "shim/raw_call.hpp"
#include "shim/spawn.hpp"
#include "shim/start_failure.hpp"

namespace harena::shim {
namespace {

/// 0, or an errno.
using Outcome = int;

Outcome outcome(long result) { return result < 0 ? static_cast<int>(-result) : 0; }

Outcome join_groups(const Entrance& entrance) {
  for (int tasks : entrance.counting_groups) {
    // "0" is the writer itself.
    if (const long wrote = raw_call(SYS_write, tasks, "0", 1); wrote < 0) return outcome(wrote);
  }
  return 0;
}

/// -1: not a number ("max", or nothing to read).
std::int64_t number_in(int file) {
  std::array<char, 32> text;
  const long length = raw_call(SYS_pread64, file, text.data(), text.size(), 0);
  std::int64_t value = length > 0 && text[0] >= '0' && text[0] <= '9' ? 0 : -1;
  for (long i = 0; value >= 0 && i < length && text[static_cast<std::size_t>(i)] >= '0'; ++i) {
    value = value * 10 + (text[static_cast<std::size_t>(i)] - '0');
  }
  return value;
}

/// The kernel doesn't refuse one too many that joins.
Outcome check_process_count(const Entrance& entrance) {
  if (entrance.counting_groups.empty()) return 0;
  for (const auto& [current, most] : entrance.process_counts) {
    const auto limit = number_in(most);
    if (limit >= 0 && number_in(current) > limit) return EAGAIN;
  }
  return 0;
}

/// The init's, as take_cpus_of() of sdk/support/cpu_set.hpp; in the sandbox's pid namespace it is 1. Mostly
/// they are the spawner's as well, and a change costs more than a look.
void take_cpus_of_init() {
  std::array<unsigned long, 128> wanted, own;
  const long bytes = raw_call(SYS_sched_getaffinity, 1, sizeof wanted, wanted.data());
  if (bytes <= 0) return;
  bool same = raw_call(SYS_sched_getaffinity, 0, sizeof own, own.data()) == bytes;
  for (std::size_t i = 0; same && i < static_cast<std::size_t>(bytes) / sizeof(long); ++i) same = wanted[i] == own[i];
  if (!same) raw_call(SYS_sched_setaffinity, 0, bytes, wanted.data());
}

Outcome enter(const Entrance& entrance, const FilterKey& key) {
  if (entrance.namespaces != 0) {
    if (const long entered = key.raw_setns(entrance.init_pidfd, entrance.namespaces); entered < 0) return outcome(entered);
  }
  take_cpus_of_init();
  raw_call(SYS_setsid);
  return 0;
}

/// The sandbox's own node if it is what it says, else the machine's.
int open_null(const Entrance& entrance) {
  const long fd = raw_call(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat info;
  const bool is_null = fd >= 0 && raw_call(SYS_fstat, fd, &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
  return is_null ? static_cast<int>(fd) : entrance.null_device;
}

Outcome set_stdio(const Entrance& entrance, const ChildStdio& stdio) {
  const std::array<int, 3> from = {stdio.in >= 0 ? stdio.in : open_null(entrance), stdio.out, stdio.err};
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (const long done = raw_call(SYS_dup3, from[i], i, 0); done < 0) return outcome(done);
  }
  return 0;
}

Outcome drop_capabilities(const Entrance& entrance) {
  for (int cap = 0; entrance.capabilities && cap < 64; ++cap) {
    if ((*entrance.capabilities >> cap & 1) != 0) continue;
    const long dropped = raw_call(SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
    // Past the last capability that this kernel knows.
    if (dropped == -EINVAL) break;
    if (dropped < 0) return outcome(dropped);
  }
  return 0;
}

Outcome become_root() {
  constexpr gid_t kGroup = 0;
  for (const long result : {raw_call(SYS_setresuid, 0, 0, 0), raw_call(SYS_setgroups, 1, &kGroup), raw_call(SYS_setresgid, 0, 0, 0)}) {
    if (result < 0) return outcome(result);
  }
  // A change of user may have made the memory readable for core dumps (fs.suid_dumpable).
  return outcome(raw_call(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0));
}

Outcome enter_folder(const LightPlan& plan) {
  if (plan.cwd) return outcome(raw_call(SYS_chdir, plan.cwd->c_str()));
  if (raw_call(SYS_chdir, plan.home.c_str()) == 0) return 0;
  return outcome(raw_call(SYS_chdir, "/"));
}

Outcome set_limits(const Entrance& entrance) {
  raw_call(SYS_umask, 022);
  raw_call(SYS_close_range, 3, UINT_MAX, 4 /* CLOSE_RANGE_CLOEXEC */);
  for (const auto& limit : entrance.limits) {
    const rlimit both{limit.value, limit.value};
    if (const long set = raw_call(SYS_prlimit64, 0, static_cast<int>(limit.resource), &both, nullptr); set < 0) return outcome(set);
  }
  return 0;
}

/// AppArmor's own folder beside other modules, or the one that there was before Linux 5.8.
Outcome choose_profile(const Entrance& entrance) {
  if (entrance.apparmor.empty()) return 0;
  long file = raw_call(SYS_openat, entrance.host_proc, "thread-self/attr/apparmor/exec", O_WRONLY | O_CLOEXEC);
  if (file < 0) file = raw_call(SYS_openat, entrance.host_proc, "thread-self/attr/exec", O_WRONLY | O_CLOEXEC);
  if (file < 0) return outcome(file);
  return outcome(raw_call(SYS_write, file, entrance.apparmor.data(), entrance.apparmor.size()));
}

/// struct sched_attr of <linux/sched/types.h>, which can't be included beside <sched.h>; the first version's
/// size.
struct ScheduleAttributes {
  std::uint32_t size = 48;
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0, deadline_ns = 0, period_ns = 0;
};
static_assert(sizeof(ScheduleAttributes) == 48);

/// Born with the spawner's short slice; what it runs has the machine's. As prefer_nothing() of
/// sdk/support/scheduling.hpp.
void prefer_nothing() {
  ScheduleAttributes attributes;
  if (raw_call(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != SCHED_OTHER) return;
  attributes.size = sizeof attributes;
  attributes.flags = 0;
  attributes.runtime_ns = 0;
  raw_call(SYS_sched_setattr, 0, &attributes, 0);
}

void report(const LightPlan& plan, Report kind, const char* body, std::size_t length) {
  std::array<char, 32> message;
  message[0] = static_cast<char>(kind);
  for (std::size_t i = 0; i < length; ++i) message[i + 1] = body[i];
  raw_call(SYS_sendto, plan.channel, message.data(), length + 1, MSG_NOSIGNAL, nullptr, 0);
}

StartFailure prepare(const LightPlan& plan) {
  const auto& entrance = *plan.entrance;
  if (const auto error = join_groups(entrance)) return {StartStep::cgroup, false, error};
  if (const auto error = check_process_count(entrance)) return {StartStep::pids, false, error};
  if (const auto error = enter(entrance, *plan.key)) return {StartStep::enter, false, error};
  if (const auto error = set_stdio(entrance, plan.stdio)) return {StartStep::stdio, false, error};
  if (const auto error = drop_capabilities(entrance)) return {StartStep::capabilities, false, error};
  if (const auto error = become_root()) return {StartStep::user, false, error};
  if (const auto error = enter_folder(plan)) return {StartStep::cwd, false, error};
  if (const auto error = set_limits(entrance)) return {StartStep::limits, false, error};
  if (const auto error = choose_profile(entrance)) return {StartStep::apparmor, false, error};
  return {};
}

StartFailure execute(const LightPlan& plan) {
  int worst = ENOENT;
  for (char* const* file = plan.file_pointers.data(); *file != nullptr; ++file) {
    const int error = outcome(raw_call(SYS_execve, *file, plan.argument_pointers.data(), plan.environment_pointers.data()));
    if (error != ENOENT && error != ENOTDIR) worst = error;
    if (error != ENOENT && error != ENOTDIR && error != EACCES) break;
  }
  const bool is_there = raw_call(SYS_faccessat, AT_FDCWD, plan.argument_pointers.front(), F_OK) == 0;
  return {StartStep::program, is_there, worst};
}

}  // namespace

void be_light_child(void* data) {
  const auto& plan = *static_cast<const LightPlan*>(data);
  auto failure = prepare(plan);
  if (failure.error_number == 0) {
    std::array<char, 8> pid;
    session::put_u64(pid.data(), static_cast<std::uint64_t>(raw_call(SYS_getpid)));
    report(plan, Report::pid, pid.data(), pid.size());
    prefer_nothing();
    failure = execute(plan);
  }
  std::array<char, kStartFailureBytes> body;
  encode_failure(failure, body.data());
  report(plan, Report::failed, body.data(), body.size());
  for (;;) raw_call(SYS_exit_group, 127);
}

}  // namespace harena::shim
