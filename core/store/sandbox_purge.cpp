// The part of SandboxRepository that removes.

#include <algorithm>

#include "core/store/idempotency.hpp"
#include "core/store/keys.hpp"
#include "core/store/pages.hpp"
#include "core/store/sandbox_repository.hpp"

namespace harena {
namespace {

/// Below the limits of a transaction (sdk/abi/state_store.h: 128 operations, 1.25 MiB), with room for one more
/// sandbox of the largest record.
constexpr std::size_t kBatchOps = 100;
constexpr std::size_t kBatchBytes = 128 * 1024;
/// Index entries have no value to speak of.
constexpr std::int64_t kCountPage = 10'000;

/// Collects operations of whole records and writes them in few transactions.
class Batch {
 public:
  Batch(StateStore& store, const CallContext& call) : store_(store), call_(call) {}

  Status add(std::vector<StateOp> ops) {
    for (auto& op : ops) {
      bytes_ += op.key.size() + op.value.size();
      ops_.push_back(std::move(op));
    }
    return ops_.size() >= kBatchOps || bytes_ >= kBatchBytes ? flush() : ok_status();
  }

  Status flush() {
    if (ops_.empty()) return ok_status();
    auto done = store_.txn(call_, ops_);
    ops_.clear();
    bytes_ = 0;
    return done ? ok_status() : Status(std::move(done).error());
  }

 private:
  StateStore& store_;
  const CallContext& call_;
  std::vector<StateOp> ops_;
  std::size_t bytes_ = 0;
};

bool belongs(const Result<IdempotencyRecord>& record, const SandboxId& id) {
  return record && record->sandbox_id == id;
}

}  // namespace

void SandboxRepository::count_terminal(std::int64_t by) {
  std::lock_guard lock(mutex_);
  if (by == kUncounted || terminal_ == kUncounted) {
    terminal_ = kUncounted;
  } else {
    terminal_ += by;
  }
}

/// How many terminal sandboxes are over the bound.
Result<std::int64_t> SandboxRepository::surplus(const CallContext& call) {
  {
    std::lock_guard lock(mutex_);
    if (terminal_ != kUncounted) return std::max<std::int64_t>(0, terminal_ - retention_.max_terminal);
  }
  std::int64_t count = 0;
  std::string start(keys::kEnded);
  while (true) {
    HARENA_TRY(const auto page, store_.range(call, start, keys::after_prefix(keys::kEnded), kCountPage));
    count += static_cast<std::int64_t>(page.size());
    if (static_cast<std::int64_t>(page.size()) < kCountPage) break;
    start = keys::successor(page.back().key);
  }
  std::lock_guard lock(mutex_);
  terminal_ = count;
  return std::max<std::int64_t>(0, count - retention_.max_terminal);
}

/// The record goes; its key remembers a terminal sandbox and goes with another.
Result<std::vector<StateOp>> SandboxRepository::removal_ops(const CallContext& call, const StateEntry& entry,
                                                            const Sandbox& sandbox) {
  std::vector<StateOp> ops{StateOp::check(entry.key, entry.revision), StateOp::remove(entry.key)};
  const bool terminal = is_terminal(sandbox.state);
  if (terminal) ops.push_back(StateOp::remove(keys::ended(sandbox.changed_ms, sandbox.id)));
  if (sandbox.spec.idempotency_key.empty()) return ops;
  const std::string name = keys::idempotency(sandbox.spec.project, sandbox.spec.idempotency_key);
  HARENA_TRY(const auto key, store_.get(call, name));
  if (!key) return ops;
  auto record = idempotency_from_entry(*key);
  if (!belongs(record, sandbox.id)) return ops;
  ops.push_back(StateOp::check(name, key->revision));
  if (!terminal) {
    ops.push_back(StateOp::remove(name));
    return ops;
  }
  record->remembered = sandbox;
  record->remembered->backend_state.clear();  // nothing is left that it could recover
  ops.push_back(StateOp::put(name, record_text(to_json(*record))));
  return ops;
}

Status SandboxRepository::remove(const CallContext& call, const SandboxId& id) {
  HARENA_TRY(const auto entry, store_.get(call, keys::sandbox(id)));
  forget(id);
  if (!entry) return ok_status();
  HARENA_TRY(const auto value, parse_record(*entry));
  HARENA_TRY(const auto sandbox, sandbox_from_stored_json(value));
  HARENA_TRY(const auto ops, removal_ops(call, *entry, sandbox));
  auto done = store_.txn(call, ops);
  if (!done) return std::move(done).error().during("removing sandbox " + id.str());
  if (is_terminal(sandbox.state)) count_terminal(-1);
  return ok_status();
}

/// `due` is an entry of the index of ends. A damaged record stays for the operator; an entry that no longer says the
/// truth goes alone.
Result<std::vector<StateOp>> SandboxRepository::purge_ops(const CallContext& call, const StateEntry& due) {
  const std::vector<StateOp> entry_only{StateOp::remove(due.key)};
  const auto id = keys::id_of(due.key);
  if (!id) return entry_only;
  HARENA_TRY(const auto entry, store_.get(call, keys::sandbox(*id)));
  if (!entry) return entry_only;
  const auto value = parse_record(*entry);
  if (!value) return entry_only;
  const auto sandbox = sandbox_from_stored_json(*value);
  if (!sandbox || !is_terminal(sandbox->state) || keys::ended(sandbox->changed_ms, *id) != due.key) {
    return entry_only;
  }
  return removal_ops(call, *entry, *sandbox);
}

Result<std::int64_t> SandboxRepository::purge_sandboxes(const CallContext& call, std::int64_t now_ms) {
  HARENA_TRY(const auto over, surplus(call));
  const std::int64_t latest = now_ms - retention_.keep_ms;
  std::int64_t removed = 0;
  Batch batch(store_, call);
  const auto visit = [&](const StateEntry& due) -> Result<bool> {
    if (removed >= over && keys::time_of(keys::kEnded, due.key) > latest) return false;
    HARENA_TRY(auto ops, purge_ops(call, due));
    HARENA_TRY_STATUS(batch.add(std::move(ops)));
    ++removed;
    return true;
  };
  auto done = for_each_entry(store_, call, keys::kEnded, "", visit);
  if (done) done = batch.flush();
  count_terminal(done ? -removed : kUncounted);
  if (!done) return std::move(done).error().during("purging terminal sandboxes");
  return removed;
}

Result<std::vector<StateOp>> SandboxRepository::key_purge_ops(const CallContext& call, const StateEntry& due) {
  std::vector<StateOp> ops{StateOp::remove(due.key)};
  const auto id = keys::id_of(due.key);
  HARENA_TRY(const auto key, store_.get(call, due.value));
  if (!id || !key || !belongs(idempotency_from_entry(*key), *id)) return ops;
  ops.push_back(StateOp::check(key->key, key->revision));
  ops.push_back(StateOp::remove(key->key));
  return ops;
}

Result<std::int64_t> SandboxRepository::purge_keys(const CallContext& call, std::int64_t now_ms) {
  std::int64_t removed = 0;
  Batch batch(store_, call);
  const auto visit = [&](const StateEntry& due) -> Result<bool> {
    if (keys::time_of(keys::kIdempotencyEnds, due.key) > now_ms) return false;
    HARENA_TRY(auto ops, key_purge_ops(call, due));
    HARENA_TRY_STATUS(batch.add(std::move(ops)));
    ++removed;
    return true;
  };
  auto done = for_each_entry(store_, call, keys::kIdempotencyEnds, "", visit);
  if (done) done = batch.flush();
  if (!done) return std::move(done).error().during("purging idempotency keys");
  return removed;
}

Result<PurgeReport> SandboxRepository::purge(const CallContext& call, std::int64_t now_ms) {
  PurgeReport report;
  HARENA_TRY(report.sandboxes, purge_sandboxes(call, now_ms));
  HARENA_TRY(report.idempotency_keys, purge_keys(call, now_ms));
  return report;
}

}  // namespace harena
