#pragma once
// The one writer. Callers that come while a commit is on its way to the disk are committed together by the next one:
// a synced commit costs the same for one transaction and for a hundred.
//
// A transaction's checks come before its changes, so that a failed check has nothing to undo in the batch. When the
// batch as a whole fails (disk full, I/O error), each is tried by itself: one large transaction doesn't fail its
// neighbours.
//
// A batch is synced if one of its transactions asks for it, which brings all earlier ones to the disk as well. One without any
// stays in the page cache, where it survives this process, and log_flusher.hpp syncs it within a second.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "plugins/statestore-sqlite/connection.hpp"
#include "plugins/statestore-sqlite/log_flusher.hpp"
#include "plugins/statestore-sqlite/options.hpp"
#include "sdk/cpp/state_store.hpp"

namespace harena::sqlite {

/// Thread-safe.
class Writer {
 public:
  /// `on_commit` is called with the store's revision after each commit that changed something, by any thread.
  static Result<std::unique_ptr<Writer>> open(const Options& options, std::function<void(std::int64_t)> on_commit);

  enum class Sync { now, soon };
  /// Returns when it is durable (Sync::soon: when it outlives the process): its revision, or the store's when nothing changed.
  /// aborted names the key of a failed check. After any error nothing of it is stored.
  Result<std::int64_t> commit(std::span<const plugin::StateOp> ops, Sync sync = Sync::now);

  std::int64_t revision() const;

 private:
  struct Waiting {
    std::span<const plugin::StateOp> ops;
    Sync sync = Sync::now;
    Result<std::int64_t> outcome = 0;
    bool done = false;
  };
  using Batch = std::vector<Waiting*>;

  Writer(Options options, std::unique_ptr<Connection> db, std::function<void(std::int64_t)> on_commit)
      : options_(std::move(options)),
        db_(std::move(db)),
        on_commit_(std::move(on_commit)),
        flusher_(options_.path),
        syncs_(options_.synchronous_full) {}
  Status load();
  void lead(std::unique_lock<std::mutex>& lock);
  void write(Batch& batch);
  Status write_together(Batch& batch);
  Status choose_sync(const Batch& batch);
  Result<std::int64_t> apply(std::span<const plugin::StateOp> ops);
  Status check(const plugin::StateOp& op);
  Result<bool> change(const plugin::StateOp& op, std::int64_t revision);
  Status forget_old();
  Status end_batch(std::int64_t before);

  const Options options_;
  std::unique_ptr<Connection> db_;
  std::function<void(std::int64_t)> on_commit_;
  LogFlusher flusher_;
  bool syncs_;  // what the connection is set to; of the leader alone

  mutable std::mutex mutex_;
  std::condition_variable turn_;
  std::deque<Waiting*> queue_;
  bool leading_ = false;
  // Of the leader alone, but for committed_.
  std::int64_t revision_ = 0, oldest_ = 1, history_bytes_ = 0;
  std::int64_t committed_ = 0;
};

}  // namespace harena::sqlite
