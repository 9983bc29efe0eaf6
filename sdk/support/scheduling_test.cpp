#include "sdk/support/scheduling.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

namespace harena {
namespace {

/// sched_attr.sched_runtime of the caller.
std::uint64_t slice() {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{};
  return ::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0 ? attributes.runtime : 0;
}

bool kernel_has_slices() {
  utsname name{};
  int major = 0, minor = 0;
  return ::uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &major, &minor) == 2 && (major > 6 || (major == 6 && minor >= 12));
}

/// Another process, so that the test's own runner stays as it is.
bool holds(const std::function<bool()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Scheduling, ChildrenInheritTheSliceAndGiveItBack) {
  if (!kernel_has_slices()) GTEST_SKIP() << "slices of ordinary processes need Linux 6.12";
  EXPECT_TRUE(holds([] {
    const auto before = slice();
    if (!prefer_latency() || slice() != kPlatformSliceNs) return false;
    return holds([before] { return slice() == kPlatformSliceNs && prefer_nothing() && slice() == before; });
  }));
}

TEST(Scheduling, NiceStays) {
  EXPECT_TRUE(holds([] {
    if (::setpriority(PRIO_PROCESS, 0, 5) != 0 || !prefer_latency()) return false;
    return ::getpriority(PRIO_PROCESS, 0) == 5;
  }));
}

}  // namespace
}  // namespace harena
