#pragma once
// Which CPUs a sandbox's threads start on: as many as its `cpu` says, rounded up.
//
// A quota (cpu.max) limits the time and hides nothing: programs that count CPUs before they make threads (nproc, make -j, Go, the JVM, OpenMP,
// Python's process_cpu_count) see the machine's, make too many, and are throttled. The kernel tells them by the thread's affinity, so that is
// what a sandbox is given. It is a place and no limit: a program may choose other CPUs, and gets no more time there.
//
// What it costs is that idle CPUs which weren't chosen stay idle. So those with the least promised so far are chosen: as long as the sandboxes
// of a machine were promised no more than it has, nobody shares a CPU with anybody (docs/decisions/0009).

#include <map>
#include <mutex>
#include <string>

#include "sdk/support/cpu_set.hpp"

namespace harena::container {

/// Thread-safe.
class CpuPlaces {
 public:
  /// CPUs of `allowed` for sandbox `id`: all where it may use as many, else those with the least promised, its own of before first.
  CpuSet place(const std::string& id, std::int64_t cpu_millicores, const CpuSet& allowed);
  /// What a sandbox from before a restart has; as if it had been promised them whole. Nothing when it is placed already.
  void adopt(const std::string& id, const CpuSet& cpus);
  void forget(const std::string& id);

 private:
  struct Place {
    CpuSet cpus;
    std::int64_t millicores_each = 0;
  };
  void take_back(const std::string& id);
  void promise(const std::string& id, Place place);

  std::mutex mutex_;
  std::map<std::string, Place> places_;
  std::map<unsigned, std::int64_t> promised_;
};

}  // namespace harena::container
