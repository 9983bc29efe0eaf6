#include "guest/metrics.hpp"

#include <sys/statfs.h>
#include <sys/sysinfo.h>

#include "guest/control_group.hpp"
#include "guest/writable_disk.hpp"

namespace harena::guest {

std::uint64_t machine_memory_bytes() {
  struct sysinfo info{};
  if (::sysinfo(&info) != 0) return 0;
  return static_cast<std::uint64_t>(info.totalram) * info.mem_unit;
}

session::MetricsAnswer read_metrics() {
  session::MetricsAnswer answer;
  answer.memory_bytes = group_number("memory.current");
  answer.memory_limit_bytes = group_number("memory.max");
  answer.cpu_usec = group_number("cpu.stat", "usage_usec");
  answer.pids = group_number("pids.current");
  answer.oom_kills = group_number("memory.events", "oom_kill");
  struct statfs disk{};
  if (::statfs(kDiskFolder, &disk) == 0) {
    const auto block = static_cast<std::uint64_t>(disk.f_bsize);
    answer.disk_bytes = (disk.f_blocks - disk.f_bfree) * block;
    answer.disk_limit_bytes = disk.f_blocks * block;
  }
  return answer;
}

}  // namespace harena::guest
