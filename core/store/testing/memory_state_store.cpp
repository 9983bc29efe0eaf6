#include "core/store/testing/memory_state_store.hpp"

#include <chrono>
#include <set>

namespace harena {
namespace {

// The limits of sdk/abi/state_store.h, which only core/pluginhost may include.
constexpr std::size_t kMaxKey = 1024;
constexpr std::size_t kMaxValue = 1024 * 1024;
constexpr std::size_t kMaxOps = 128;
constexpr std::size_t kMaxTxnBytes = 1280 * 1024;
constexpr std::int64_t kMaxRange = 10'000;

Error invalid(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

Status check_key(const std::string& key) {
  if (!key.empty() && key.size() <= kMaxKey) return ok_status();
  return invalid("a key has 1 to 1024 bytes; '" + key.substr(0, 64) + "' has " + std::to_string(key.size()));
}

Status check_limits(const std::vector<StateOp>& ops) {
  if (ops.empty() || ops.size() > kMaxOps) {
    return invalid("a transaction has 1 to 128 operations; this one has " + std::to_string(ops.size()));
  }
  std::size_t bytes = 0;
  std::set<std::string> written;
  for (const auto& op : ops) {
    HARENA_TRY_STATUS(check_key(op.key));
    if (op.value.size() > kMaxValue) return invalid("the value of '" + op.key + "' is over 1 MiB");
    if (op.kind != StateOp::Kind::check && !written.insert(op.key).second) {
      return invalid("the key '" + op.key + "' is written twice in one transaction");
    }
    bytes += op.key.size() + op.value.size();
  }
  return bytes <= kMaxTxnBytes ? ok_status() : Status(invalid("a transaction has at most 1.25 MiB"));
}

Status check_call(const CallContext& call) {
  return call.cancelled() ? Status(make_error(ErrorCode::cancelled, "the call was cancelled")) : ok_status();
}

}  // namespace

Result<std::optional<StateEntry>> MemoryStateStore::get(const CallContext& call, const std::string& key) {
  HARENA_TRY_STATUS(check_call(call));
  HARENA_TRY_STATUS(check_key(key));
  std::lock_guard lock(mutex_);
  const auto it = entries_.find(key);
  return it == entries_.end() ? std::nullopt : std::optional(it->second);
}

Result<std::vector<StateEntry>> MemoryStateStore::range(const CallContext& call, const std::string& start,
                                                        const std::string& end, std::int64_t limit) {
  HARENA_TRY_STATUS(check_call(call));
  if (limit < 1 || limit > kMaxRange) {
    return invalid("the limit of a range is 1 to 10000; this one is " + std::to_string(limit));
  }
  std::lock_guard lock(mutex_);
  std::vector<StateEntry> found;
  for (auto it = entries_.lower_bound(start); it != entries_.end(); ++it) {
    if ((!end.empty() && it->first >= end) || static_cast<std::int64_t>(found.size()) == limit) break;
    found.push_back(it->second);
  }
  return found;
}

Status MemoryStateStore::run_checks(const std::vector<StateOp>& ops) const {
  for (const auto& op : ops) {
    if (op.kind != StateOp::Kind::check) continue;
    const auto it = entries_.find(op.key);
    const std::int64_t revision = it == entries_.end() ? 0 : it->second.revision;
    if (revision == op.revision) continue;
    return make_error(ErrorCode::aborted, "the key '" + op.key + "' has revision " + std::to_string(revision) +
                                              ", not " + std::to_string(op.revision));
  }
  return ok_status();
}

void MemoryStateStore::apply(const std::vector<StateOp>& ops) {
  const std::int64_t next = revision_ + 1;
  for (const auto& op : ops) {
    if (op.kind == StateOp::Kind::put) {
      entries_[op.key] = {op.key, op.value, next};
      history_.push_back({op.key, op.value, next});
      revision_ = next;
    } else if (op.kind == StateOp::Kind::remove && entries_.erase(op.key) == 1) {
      history_.push_back({op.key, std::nullopt, next});
      revision_ = next;
    }
  }
}

Result<std::int64_t> MemoryStateStore::txn(const CallContext& call, const std::vector<StateOp>& ops, Durability durability) {
  HARENA_TRY_STATUS(check_call(call));
  HARENA_TRY_STATUS(check_limits(ops));
  if (before_txn) HARENA_TRY_STATUS(before_txn(ops));
  std::int64_t revision = 0;
  {
    std::lock_guard lock(mutex_);
    HARENA_TRY_STATUS(run_checks(ops));
    apply(ops);
    if (durability == Durability::process) ++relaxed_;
    revision = revision_;
  }
  changed_.notify_all();
  if (after_txn) HARENA_TRY_STATUS(after_txn(ops));
  return revision;
}

Status MemoryStateStore::watch(const CallContext& call, const std::string& prefix, std::int64_t after_revision,
                               const std::function<bool(const std::string&, const std::optional<std::string>&,
                                                        std::int64_t)>& on_change) {
  std::unique_lock lock(mutex_);
  std::int64_t seen = after_revision;
  while (true) {
    HARENA_TRY_STATUS(check_call(call));
    if (seen < compacted_ || seen > revision_) {
      return make_error(ErrorCode::out_of_range, "revision " + std::to_string(seen) + " is not remembered; have " +
                                                     std::to_string(compacted_) + " to " + std::to_string(revision_));
    }
    std::vector<Change> news;
    for (const auto& change : history_) {
      if (change.revision > seen && change.key.starts_with(prefix)) news.push_back(change);
    }
    seen = revision_;
    lock.unlock();
    for (const auto& change : news) {
      if (!on_change(change.key, change.value, change.revision)) {
        return make_error(ErrorCode::cancelled, "the watcher said stop");
      }
    }
    lock.lock();
    if (seen == revision_) changed_.wait_for(lock, std::chrono::milliseconds(20));
  }
}

std::int64_t MemoryStateStore::revision() const {
  std::lock_guard lock(mutex_);
  return revision_;
}

std::int64_t MemoryStateStore::relaxed() const {
  std::lock_guard lock(mutex_);
  return relaxed_;
}

std::size_t MemoryStateStore::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

void MemoryStateStore::compact() {
  std::lock_guard lock(mutex_);
  history_.clear();
  compacted_ = revision_;
}

}  // namespace harena
