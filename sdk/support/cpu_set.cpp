#include "sdk/support/cpu_set.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "sdk/base/text.hpp"

namespace harena {
namespace {

// The raw calls: the library's cpu_set_t ends at 1,024 CPUs, and the kernel refuses a mask that is shorter than its own.
constexpr std::size_t kBits = sizeof(unsigned long) * 8;
using Mask = std::array<unsigned long, kMostCpus / kBits>;

/// Bytes of the kernel's own mask, or -1.
long read_mask(pid_t thread, Mask& mask) { return ::syscall(SYS_sched_getaffinity, thread, sizeof mask, mask.data()); }

}  // namespace

Result<CpuSet> parse_cpus(std::string_view text) {
  CpuSet cpus;
  if (text.empty()) return cpus;
  for (const auto& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    HARENA_TRY(const auto first, parse_int(std::string_view(part).substr(0, dash), 0, kMostCpus - 1, "CPU"));
    const std::string_view last_text = dash == std::string::npos ? part : std::string_view(part).substr(dash + 1);
    HARENA_TRY(const auto last, parse_int(last_text, first, kMostCpus - 1, "last CPU of a range"));
    for (auto cpu = first; cpu <= last; ++cpu) cpus.insert(static_cast<unsigned>(cpu));
  }
  return cpus;
}

std::string cpus_text(const CpuSet& cpus) {
  std::string text;
  for (auto it = cpus.begin(); it != cpus.end();) {
    const unsigned first = *it;
    unsigned last = first;
    while (++it != cpus.end() && *it == last + 1) last = *it;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last != first) text += "-" + std::to_string(last);
  }
  return text;
}

Result<CpuSet> cpus_of(pid_t thread) {
  Mask mask{};
  const long bytes = read_mask(thread, mask);
  if (bytes < 0) return errno_error(errno, "read the CPUs of thread " + std::to_string(thread));
  CpuSet cpus;
  for (unsigned cpu = 0; cpu < static_cast<unsigned>(bytes) * 8; ++cpu) {
    if ((mask[cpu / kBits] >> cpu % kBits & 1) != 0) cpus.insert(cpus.end(), cpu);
  }
  return cpus;
}

Status set_cpus(pid_t thread, const CpuSet& cpus) {
  Mask mask{};
  for (const unsigned cpu : cpus) {
    if (cpu < kMostCpus) mask[cpu / kBits] |= 1ul << cpu % kBits;
  }
  if (::syscall(SYS_sched_setaffinity, thread, sizeof mask, mask.data()) == 0) return {};
  return errno_error(errno, "give thread " + std::to_string(thread) + " the CPUs " + cpus_text(cpus));
}

void take_cpus_of(pid_t other) {
  Mask mask{};
  const long bytes = read_mask(other, mask);
  if (bytes > 0) (void)::syscall(SYS_sched_setaffinity, 0, bytes, mask.data());
}

}  // namespace harena
