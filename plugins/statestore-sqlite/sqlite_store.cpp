#include "plugins/statestore-sqlite/sqlite_store.hpp"

#include <algorithm>
#include <chrono>

#include "plugins/statestore-sqlite/layout.hpp"

namespace harena::sqlite {
namespace {

// The contract has a question for cancellation, no wake-up; it wants an answer within 250 ms.
constexpr std::chrono::milliseconds kCancelPoll{50};
// Transactions that a watch reads at once, so that a slow reader doesn't hold the log file's checkpoint.
constexpr std::int64_t kRevisionsAtOnce = 64;

constexpr std::string_view kRevisionSql = "SELECT value FROM meta WHERE name = 'revision'";

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::make(const Call& call, plugin::Host, const plugin::json& config) {
  Options options = Options::from(config);
  HARENA_TRY(UniqueFd lock, take_lock(call, options.path));
  std::unique_ptr<SqliteStore> store(new SqliteStore(std::move(lock), options));
  HARENA_TRY(store->writer_, Writer::open(options, [raw = store.get()](std::int64_t revision) { raw->tell(revision); }));
  store->told_ = store->writer_->revision();
  return store;
}

Result<std::int64_t> SqliteStore::get(const Call& call, std::string_view key) {
  HARENA_TRY(auto db, readers_.lease());
  HARENA_TRY(auto snapshot, Snapshot::begin(*db));
  HARENA_TRY(auto revision, db->integer(kRevisionSql));
  HARENA_TRY(auto select, db->prepare("SELECT value, revision FROM kv WHERE key = ?"));
  HARENA_TRY(bool row, select.bind(1, key).step());
  if (row) HARENA_TRY_STATUS(call.emit(key, select.bytes(0), select.integer(1)));
  return revision;
}

Result<std::int64_t> SqliteStore::range(const Call& call, std::string_view start, std::string_view end, std::int64_t limit) {
  HARENA_TRY(auto db, readers_.lease());
  HARENA_TRY(auto snapshot, Snapshot::begin(*db));
  HARENA_TRY(auto revision, db->integer(kRevisionSql));
  // Two statements, so that each is a plain walk of the index.
  HARENA_TRY(auto select, db->prepare(end.empty() ? "SELECT key, value, revision FROM kv WHERE key >= ?1 ORDER BY key LIMIT ?3"
                                                  : "SELECT key, value, revision FROM kv WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3"));
  select.bind(1, start).bind(3, limit);
  if (!end.empty()) select.bind(2, end);
  for (;;) {
    HARENA_TRY(bool row, select.step());
    if (!row) return revision;
    HARENA_TRY_STATUS(call.check());
    HARENA_TRY_STATUS(call.emit(select.bytes(0), select.bytes(1), select.integer(2)));
  }
}

Result<std::int64_t> SqliteStore::txn(const Call& call, std::span<const plugin::StateOp> ops) {
  return writer_->commit(ops, call.has_flag(HARENA_STATE_RELAXED) ? Writer::Sync::soon : Writer::Sync::now);
}

Status SqliteStore::watch(const Call& call, std::string_view prefix, std::int64_t after) {
  for (;;) {
    HARENA_TRY(after, emit_changes(call, prefix, after));
    if (!wait_beyond(call, after)) return call.check();
  }
}

Result<std::int64_t> SqliteStore::emit_changes(const Call& call, std::string_view prefix, std::int64_t after) {
  HARENA_TRY(auto db, readers_.lease());
  HARENA_TRY(auto snapshot, Snapshot::begin(*db));
  HARENA_TRY(auto now, db->integer(kRevisionSql));
  HARENA_TRY(auto forgotten, db->integer("SELECT value FROM meta WHERE name = 'forgotten'"));
  if (after < forgotten || after > now) {
    return make_error(ErrorCode::out_of_range, "revision " + std::to_string(after) + " can't be watched from: changes after " +
                                                   std::to_string(forgotten) + " up to " + std::to_string(now) + " are known; read the range again");
  }
  std::int64_t last = std::min(now, after + kRevisionsAtOnce);
  HARENA_TRY(auto select, db->prepare("SELECT key, value, revision FROM history WHERE revision > ? AND revision <= ? ORDER BY sequence"));
  select.bind(1, after).bind(2, last);
  for (;;) {
    HARENA_TRY(bool row, select.step());
    if (!row) return last;
    if (!select.bytes(0).starts_with(prefix)) continue;
    HARENA_TRY_STATUS(call.check());
    if (select.is_null(1)) {
      HARENA_TRY_STATUS(call.emit_deleted(select.bytes(0), select.integer(2)));
    } else {
      HARENA_TRY_STATUS(call.emit(select.bytes(0), select.bytes(1), select.integer(2)));
    }
  }
}

bool SqliteStore::wait_beyond(const Call& call, std::int64_t revision) {
  std::unique_lock lock(mutex_);
  while (told_ <= revision) {
    if (!call.check().ok()) return false;
    changed_.wait_for(lock, kCancelPoll);
  }
  return true;
}

void SqliteStore::tell(std::int64_t revision) {
  std::lock_guard lock(mutex_);
  told_ = std::max(told_, revision);
  changed_.notify_all();
}

}  // namespace harena::sqlite
