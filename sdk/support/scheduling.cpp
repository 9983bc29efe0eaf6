#include "sdk/support/scheduling.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace harena {
namespace {

/// struct sched_attr of <linux/sched/types.h>, which can't be included beside <sched.h>; the first version's size.
struct Attributes {
  std::uint32_t size = 48;
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};
static_assert(sizeof(Attributes) == 48);

/// Nice and policy stay as they are.
bool set_slice(std::uint64_t slice_ns) {
  Attributes attributes;
  // Raw: glibc 2.36 has no wrapper.
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != SCHED_OTHER) return false;
  attributes.size = sizeof attributes;
  attributes.flags = 0;
  attributes.runtime_ns = slice_ns;
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace

bool prefer_latency() { return set_slice(kPlatformSliceNs); }
bool prefer_nothing() { return set_slice(0); }

}  // namespace harena
