#pragma once
// SnapshotRepository: the snapshots of one edge in its state store, and the names that they have.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/contracts/state_store.hpp"
#include "core/model/snapshot.hpp"

namespace harena {

struct SnapshotPage {
  std::vector<Snapshot> snapshots;  ///< by id
  std::string next_cursor;          ///< empty: the end
};

/// Thread-safe, blocking. Calls for one snapshot are made one at a time.
class SnapshotRepository {
 public:
  /// `store` must outlive this.
  explicit SnapshotRepository(StateStore& store) : store_(store) {}

  /// Record and name in one transaction. already_exists names the snapshot that has the name.
  Status create(const CallContext& call, const Snapshot& snapshot);
  Status save(const CallContext& call, const Snapshot& snapshot);
  /// not_found names the id.
  Result<Snapshot> get(const CallContext& call, const SandboxId& id);
  /// By its name in exactly this project; nullopt: there is none.
  Result<std::optional<Snapshot>> find(const CallContext& call, const ProjectPath& project, const std::string& name);
  /// Record and name. Ok when absent.
  Status remove(const CallContext& call, const Snapshot& snapshot);
  /// After `cursor` (an id); at most `limit` (1 to 1,000).
  Result<SnapshotPage> list(const CallContext& call, const SnapshotFilter& filter, const std::string& cursor, std::int64_t limit);
  Status each(const CallContext& call, const std::function<void(Result<Snapshot>)>& visit);

 private:
  StateStore& store_;
};

}  // namespace harena
