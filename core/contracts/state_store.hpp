#pragma once
// StateStore: ordered keys with revisions and compare-and-set transactions; the C++ face of harena.state-store/1.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/contracts/call.hpp"
#include "sdk/base/result.hpp"

namespace harena {

struct StateEntry {
  std::string key;
  std::string value;
  std::int64_t revision = 0;
};

struct StateOp {
  enum class Kind { check, put, remove } kind = Kind::put;
  std::string key;
  std::string value;          ///< of put
  std::int64_t revision = 0;  ///< of check; 0: absent

  static StateOp check(std::string key, std::int64_t revision) {
    return {.kind = Kind::check, .key = std::move(key), .revision = revision};
  }
  static StateOp put(std::string key, std::string value) {
    return {.kind = Kind::put, .key = std::move(key), .value = std::move(value)};
  }
  static StateOp remove(std::string key) { return {.kind = Kind::remove, .key = std::move(key)}; }
};

/// What a transaction must outlive. `power_cut`: everything, once it has returned. `process`: the end of this process (kill -9
/// too); a power cut of the machine within a second may take it back, with all that were made after it. For records of what a
/// power cut ends as well: docs/decisions/0006-relaxed-transactions.md.
enum class Durability { power_cut, process };

/// Thread-safe, blocking. Errors and limits as in sdk/abi/state_store.h.
class StateStore {
 public:
  virtual ~StateStore() = default;
  /// nullopt when absent.
  virtual Result<std::optional<StateEntry>> get(const CallContext& call, const std::string& key) = 0;
  /// start <= key < end; empty end: no bound.
  virtual Result<std::vector<StateEntry>> range(const CallContext& call, const std::string& start,
                                                const std::string& end, std::int64_t limit) = 0;
  /// All or nothing; `aborted` names the key whose check failed. Returns the new revision.
  virtual Result<std::int64_t> txn(const CallContext& call, const std::vector<StateOp>& ops,
                                   Durability durability = Durability::power_cut) = 0;
  /// Blocks until cancelled or `on_change` returns false; a removal has no value.
  virtual Status watch(const CallContext& call, const std::string& prefix, std::int64_t after_revision,
                       const std::function<bool(const std::string& key, const std::optional<std::string>& value,
                                                std::int64_t revision)>& on_change) = 0;
};

}  // namespace harena
