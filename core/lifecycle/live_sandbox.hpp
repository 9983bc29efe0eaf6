#pragma once
// LiveSandbox: one sandbox of this edge while it isn't at its end, with the two locks that guard it.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "core/contracts/call.hpp"
#include "core/iam/quota.hpp"
#include "core/model/sandbox.hpp"

namespace harena {

/// Locks, in this order: `verb_mutex` is held for a whole verb (create, pause, resume, stop; seconds), so that a
/// backend sees one call at a time for a sandbox; the record's own lock is held for a copy or an assignment only and
/// may be taken from an event loop.
class LiveSandbox {
 public:
  LiveSandbox(Sandbox record, std::int64_t now_ns) : record_(std::move(record)), last_used_ns_(now_ns) {}

  std::timed_mutex verb_mutex;

  Sandbox snapshot() const;
  SandboxState state() const;
  /// Replaces the record. Precondition: the caller holds verb_mutex, or is the only one who knows of this object.
  void replace(Sandbox record);

  /// How the creation ended; waits for it. nullopt: it is running (or was). [blocking]
  std::optional<Error> wait_created();
  void finish_creation(std::optional<Error> error);

  /// Uses: operations in progress. begin_use restarts the idle clock, and so does end_use.
  void begin_use(std::int64_t now_ns);
  void end_use(std::int64_t now_ns);
  /// Nanoseconds since the last use, 0 while one is in progress.
  std::int64_t idle_ns(std::int64_t now_ns) const;

  /// Its part of the quotas; given back when the sandbox has ended. Guarded by verb_mutex.
  QuotaLedger::Reservation& reservation() { return reservation_; }

  /// Asks a creation in progress to give up; the cancel flag of its CallContext.
  CancelFlag creation_cancel() const { return creation_cancel_; }

 private:
  mutable std::mutex record_mutex_;
  std::condition_variable created_;
  Sandbox record_;
  bool creation_done_ = false;
  std::optional<Error> creation_error_;
  CancelFlag creation_cancel_ = std::make_shared<std::atomic<bool>>(false);
  QuotaLedger::Reservation reservation_;
  std::atomic<int> uses_{0};
  std::atomic<std::int64_t> last_used_ns_;
};

}  // namespace harena
