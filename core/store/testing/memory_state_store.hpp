#pragma once
// MemoryStateStore: a faithful StateStore for tests, with the limits, revisions, checks and watches of
// sdk/abi/state_store.h. Nothing in it is durable.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "core/contracts/state_store.hpp"

namespace harena {

/// Thread-safe. A failure can be scripted:
///
///     store.before_txn = [&](const std::vector<StateOp>&) -> Status { return unavailable; };
///     store.after_txn = ...   // the change is made, the answer is lost
class MemoryStateStore final : public StateStore {
 public:
  Result<std::optional<StateEntry>> get(const CallContext& call, const std::string& key) override;
  Result<std::vector<StateEntry>> range(const CallContext& call, const std::string& start, const std::string& end,
                                        std::int64_t limit) override;
  Result<std::int64_t> txn(const CallContext& call, const std::vector<StateOp>& ops,
                           Durability durability = Durability::power_cut) override;
  Status watch(const CallContext& call, const std::string& prefix, std::int64_t after_revision,
               const std::function<bool(const std::string& key, const std::optional<std::string>& value,
                                        std::int64_t revision)>& on_change) override;

  /// Set before any other thread uses the store.
  std::function<Status(const std::vector<StateOp>&)> before_txn;
  std::function<Status(const std::vector<StateOp>&)> after_txn;

  std::int64_t revision() const;
  std::size_t size() const;
  /// How many transactions needn't have outlived a power cut.
  std::int64_t relaxed() const;
  /// Forgets the history up to now: a watch from before is out_of_range.
  void compact();

 private:
  struct Change {
    std::string key;
    std::optional<std::string> value;
    std::int64_t revision;
  };
  Status run_checks(const std::vector<StateOp>& ops) const;
  void apply(const std::vector<StateOp>& ops);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, StateEntry> entries_;
  std::deque<Change> history_;
  std::int64_t revision_ = 0;
  std::int64_t relaxed_ = 0;
  std::int64_t compacted_ = 0;
};

}  // namespace harena
