#include "plugins/statestore-sqlite/writer.hpp"

#include <algorithm>

#include "plugins/statestore-sqlite/layout.hpp"

namespace harena::sqlite {
namespace {

using plugin::StateOp;

constexpr std::size_t kMaxBatch = 256;
// History is trimmed a little at a time, so that no commit pays for much of it.
constexpr std::int64_t kForgetStep = 64;

std::string shown(std::string_view key) {
  return "'" + std::string(key.substr(0, 64)) + (key.size() > 64 ? "...'" : "'");
}

}  // namespace

Result<std::unique_ptr<Writer>> Writer::open(const Options& options, std::function<void(std::int64_t)> on_commit) {
  HARENA_TRY(auto db, open_writer(options));
  std::unique_ptr<Writer> writer(new Writer(options, std::move(db), std::move(on_commit)));
  HARENA_TRY_STATUS(writer->load());
  return writer;
}

Status Writer::load() {
  HARENA_TRY(revision_, db_->integer("SELECT value FROM meta WHERE name = 'revision'"));
  HARENA_TRY(auto forgotten, db_->integer("SELECT value FROM meta WHERE name = 'forgotten'"));
  HARENA_TRY(history_bytes_, db_->integer("SELECT coalesce(sum(length(key) + coalesce(length(value), 0)), 0) FROM history"));
  oldest_ = forgotten + 1;
  committed_ = revision_;
  return ok_status();
}

std::int64_t Writer::revision() const {
  std::lock_guard lock(mutex_);
  return committed_;
}

Result<std::int64_t> Writer::commit(std::span<const StateOp> ops, Sync sync) {
  Waiting mine{ops, sync};
  std::unique_lock lock(mutex_);
  queue_.push_back(&mine);
  while (!mine.done) {
    turn_.wait(lock, [&] { return mine.done || !leading_; });
    if (!mine.done) lead(lock);
  }
  return std::move(mine.outcome);
}

// The caller becomes the leader for one batch: its own transaction and those that wait before and after it.
void Writer::lead(std::unique_lock<std::mutex>& lock) {
  leading_ = true;
  std::size_t count = std::min(queue_.size(), kMaxBatch);
  Batch batch(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  std::int64_t before = committed_;
  lock.unlock();
  write(batch);
  lock.lock();
  committed_ = revision_;
  for (Waiting* waiting : batch) waiting->done = true;
  leading_ = false;
  std::int64_t now = committed_;
  turn_.notify_all();
  if (now != before) {
    lock.unlock();
    on_commit_(now);
    lock.lock();
  }
}

void Writer::write(Batch& batch) {
  Status together = write_together(batch);
  if (together.ok()) return;
  if (batch.size() == 1) {
    batch.front()->outcome = std::move(together).error();
    return;
  }
  for (Waiting* waiting : batch) {
    Batch alone{waiting};
    if (auto written = write_together(alone); !written.ok()) waiting->outcome = std::move(written).error();
  }
}

// On failure nothing of the batch is stored.
Status Writer::write_together(Batch& batch) {
  const std::int64_t revision = revision_, oldest = oldest_, bytes = history_bytes_;
  auto written = [&]() -> Status {
    HARENA_TRY_STATUS(choose_sync(batch));
    HARENA_TRY_STATUS(db_->execute("BEGIN IMMEDIATE"));
    for (Waiting* waiting : batch) {
      waiting->outcome = apply(waiting->ops);
      // A failed check is the transaction's own affair; anything else is the database's, and ends the batch.
      if (!waiting->outcome.ok() && waiting->outcome.error().code != ErrorCode::aborted) return waiting->outcome.error();
    }
    return end_batch(revision);
  }();
  if (written.ok()) {
    if (revision_ != revision) syncs_ ? flusher_.synced() : flusher_.left_unsynced();
    return written;
  }
  if (db_->in_transaction()) (void)db_->execute("ROLLBACK");
  revision_ = revision, oldest_ = oldest, history_bytes_ = bytes;
  return written;
}

// Between transactions: SQLite ignores the pragma inside of one.
Status Writer::choose_sync(const Batch& batch) {
  const auto now = [](const Waiting* waiting) { return waiting->sync == Sync::now; };
  const bool wanted = options_.synchronous_full && (std::any_of(batch.begin(), batch.end(), now) || flusher_.failed());
  if (wanted == syncs_) return ok_status();
  HARENA_TRY_STATUS(db_->execute(wanted ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"));
  syncs_ = wanted;
  return ok_status();
}

Status Writer::end_batch(std::int64_t before) {
  if (revision_ != before) {
    HARENA_TRY_STATUS(forget_old());
    HARENA_TRY(auto store, db_->prepare("UPDATE meta SET value = ? WHERE name = 'revision'"));
    HARENA_TRY_STATUS(store.bind(1, revision_).run());
  }
  return db_->execute("COMMIT");
}

// One transaction inside the batch.
Result<std::int64_t> Writer::apply(std::span<const StateOp> ops) {
  // All checks first: they see the store as it was, and a failure has nothing to undo.
  for (const auto& op : ops) {
    if (op.kind == StateOp::Kind::check) HARENA_TRY_STATUS(check(op));
  }
  bool changed = false;
  for (const auto& op : ops) {
    if (op.kind == StateOp::Kind::check) continue;
    HARENA_TRY(bool one, change(op, revision_ + 1));
    changed = changed || one;
  }
  if (changed) ++revision_;
  return revision_;
}

Status Writer::check(const StateOp& op) {
  HARENA_TRY(auto select, db_->prepare("SELECT revision FROM kv WHERE key = ?"));
  HARENA_TRY(bool row, select.bind(1, op.key).step());
  std::int64_t actual = row ? select.integer(0) : 0;
  if (actual == op.revision) return ok_status();
  auto told = [](std::int64_t revision) { return revision == 0 ? std::string("absent") : "at revision " + std::to_string(revision); };
  Error error = make_error(ErrorCode::aborted, "key " + shown(op.key) + " is " + told(actual) + ", not " + told(op.revision));
  error.retry = Retry::same_node;
  return error;
}

Result<bool> Writer::change(const StateOp& op, std::int64_t revision) {
  if (op.kind == StateOp::Kind::put) {
    HARENA_TRY(auto put, db_->prepare("INSERT INTO kv(key, value, revision) VALUES(?, ?, ?) ON CONFLICT(key) DO UPDATE SET "
                                      "value = excluded.value, revision = excluded.revision"));
    HARENA_TRY_STATUS(put.bind(1, op.key).bind(2, op.value).bind(3, revision).run());
  } else {
    HARENA_TRY(auto removal, db_->prepare("DELETE FROM kv WHERE key = ? RETURNING 1"));
    HARENA_TRY(bool was_there, removal.bind(1, op.key).step());
    if (!was_there) return false;
    HARENA_TRY_STATUS(removal.run());  // to its end: only then the deletion is done
  }
  HARENA_TRY(auto log, db_->prepare("INSERT INTO history(revision, key, value) VALUES(?, ?, ?)"));
  log.bind(1, revision).bind(2, op.key);
  if (op.kind == StateOp::Kind::put) log.bind(3, op.value); else log.bind_null(3);
  HARENA_TRY_STATUS(log.run());
  history_bytes_ += std::ssize(op.key) + std::ssize(op.value);
  return true;
}

Status Writer::forget_old() {
  std::int64_t first = oldest_;
  while (oldest_ <= revision_ && (revision_ - oldest_ + 1 > options_.history_revisions + kForgetStep || history_bytes_ > options_.history_bytes)) {
    std::int64_t last = std::min({oldest_ + kForgetStep - 1, revision_});
    if (history_bytes_ > options_.history_bytes) last = oldest_;  // large values: one by one
    HARENA_TRY(auto size, db_->prepare("SELECT coalesce(sum(length(key) + coalesce(length(value), 0)), 0) FROM history WHERE revision <= ?"));
    HARENA_TRY_STATUS(size.bind(1, last).run());
    HARENA_TRY(auto removal, db_->prepare("DELETE FROM history WHERE revision <= ?"));
    std::int64_t freed = size.integer(0);
    HARENA_TRY_STATUS(removal.bind(1, last).run());
    history_bytes_ -= freed;
    oldest_ = last + 1;
  }
  if (oldest_ == first) return ok_status();
  HARENA_TRY(auto store, db_->prepare("UPDATE meta SET value = ? WHERE name = 'forgotten'"));
  return store.bind(1, oldest_ - 1).run();
}

}  // namespace harena::sqlite
