#pragma once
// The usual process_* metrics, from /proc.

#include "core/telemetry/metrics.hpp"

namespace harena {

/// process_resident_memory_bytes, process_cpu_seconds_total, process_open_fds, process_threads. NaN where /proc says nothing.
void add_process_metrics(MetricsRegistry& registry);

}  // namespace harena
