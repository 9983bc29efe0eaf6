#include "core/telemetry/process_metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace harena {
namespace {

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  if (!(file >> total >> resident)) return std::nan("");
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return std::nan("");
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double entries_of(const char* folder) {
  std::error_code code;
  double count = 0;
  for (std::filesystem::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) ++count;
  return code ? std::nan("") : count;
}

}  // namespace

void add_process_metrics(MetricsRegistry& registry) {
  registry.computed("process_resident_memory_bytes", "Resident memory.", "gauge", resident_bytes);
  registry.computed("process_cpu_seconds_total", "User and system time.", "counter", cpu_seconds);
  registry.computed("process_open_fds", "Open descriptors.", "gauge", [] { return entries_of("/proc/self/fd"); });
  registry.computed("process_threads", "Threads.", "gauge", [] { return entries_of("/proc/self/task"); });
}

}  // namespace harena
