#pragma once
// CallContext: what accompanies every call from the core into a plugin or an edge.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

namespace harena {

/// Set once, read from any thread.
using CancelFlag = std::shared_ptr<std::atomic<bool>>;

struct CallContext {
  /// CLOCK_MONOTONIC in nanoseconds; 0: none. Past it a call fails with deadline_exceeded and leaves nothing half-made.
  std::int64_t deadline_ns = 0;
  /// May be null: never cancelled.
  CancelFlag cancel;
  std::string trace_id;
  /// Who asks; empty for the core's own work (recovery, TTL).
  std::string principal;
  /// May be empty. Called from the thread of the call.
  std::function<void(const nlohmann::json&)> progress;

  bool cancelled() const { return cancel && cancel->load(std::memory_order_relaxed); }
};

}  // namespace harena
