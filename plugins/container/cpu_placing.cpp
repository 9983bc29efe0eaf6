// The CPUs of a sandbox's threads: its init has them, and every command takes its init's (shim/command_child.cpp).

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "plugins/container/backend.hpp"
#include "plugins/container/launcher/cpu_views.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

/// Of one process; none when it has ended.
std::vector<pid_t> threads_of(pid_t process) {
  auto names = list_directory(AT_FDCWD, "/proc/" + std::to_string(process) + "/task");
  std::vector<pid_t> threads;
  if (!names.ok()) return threads;
  for (const auto& name : *names) threads.push_back(static_cast<pid_t>(std::atoi(name.c_str())));
  return threads;
}

/// Threads that were put somewhere narrower by their program stay there. How many had to be moved.
int move_threads(const std::vector<pid_t>& processes, const CpuSet& from, const CpuSet& to) {
  int moved = 0;
  for (const pid_t process : processes) {
    for (const pid_t thread : threads_of(process)) {
      auto has = cpus_of(thread);
      if (!has.ok() || *has == to) continue;
      const bool own_choice = *has != from && std::includes(to.begin(), to.end(), has->begin(), has->end());
      if (!own_choice && set_cpus(thread, to).ok()) ++moved;
    }
  }
  return moved;
}

}  // namespace

Result<CpuSet> ContainerBackend::cpus_for(const std::string& id, const Parameters& parameters) {
  if (!settings_.place_on_cpus) return CpuSet();
  // What harenad itself may use is the machine, as far as its sandboxes go.
  HARENA_TRY(CpuSet allowed, cpus_of(0));
  if (!parameters.cpuset.empty()) {
    HARENA_TRY(const CpuSet wanted, parse_cpus(parameters.cpuset));
    CpuSet both;
    std::set_intersection(allowed.begin(), allowed.end(), wanted.begin(), wanted.end(), std::inserter(both, both.end()));
    // A cpuset that harenad may not run on is the operator's own choice all the same.
    allowed = both.empty() ? wanted : both;
  }
  return places_.place(id, parameters.cpu_millicores, allowed);
}

Status ContainerBackend::place_again(const CgroupGroup& group, const std::string& id, const Parameters& parameters, const ProcessRef& init) {
  if (!settings_.place_on_cpus) return {};
  HARENA_TRY(const CpuSet from, cpus_of(init.pid));
  HARENA_TRY(const CpuSet to, cpus_for(id, parameters));
  // The init first: what begins from here on has the new ones. What was being forked meanwhile is seen by the next look.
  HARENA_TRY_STATUS(set_cpus(init.pid, to));
  constexpr int kMostLooks = 10;
  for (int i = 0, moved = 1; i < kMostLooks && moved != 0; ++i) {
    HARENA_TRY(const auto processes, group.processes());
    moved = move_threads(processes, from, to);
  }
  return rewrite_cpu_views(init.pid, static_cast<int>(to.size()));
}

}  // namespace harena::container
