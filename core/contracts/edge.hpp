#pragma once
// Edge: the sandboxes of one machine, as the apiserver sees them. On one machine the apiserver holds the edge itself;
// in a cluster it holds a network client; both are this interface, so there is no second code path.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/contracts/backend.hpp"
#include "core/contracts/call.hpp"
#include "core/model/sandbox.hpp"
#include "core/model/snapshot.hpp"
#include "sdk/http/task.hpp"

namespace harena {

struct BackendListing {
  BackendDescription description;
  BackendProbe probe;
  std::string plugin_id;
  std::string plugin_version;
};

struct SandboxPage {
  std::vector<Sandbox> sandboxes;  ///< by id
  std::string next_cursor;         ///< empty: the end
};

/// Whose a sandbox becomes.
struct SandboxOwner {
  ProjectPath project = ProjectPath::root();
  std::string principal;  ///< what its created_by becomes
};

/// Changes that a caller may make to a living sandbox. Absent members stay.
struct SandboxUpdate {
  /// What must be among its labels for anything to change: failed_precondition otherwise, naming the label. Updates of one sandbox are
  /// judged one after the other, so of several that claim a label one gets it.
  Labels if_labels;
  /// It counts against this project's quotas from now on (resource_exhausted when it doesn't fit), and is its principal's. Not with params.
  std::optional<SandboxOwner> owner;
  std::optional<Labels> labels;
  std::optional<std::int64_t> idle_ttl_s;
  std::optional<std::int64_t> lifetime_s;  ///< from now on; 0: no absolute end
  /// As lifetime_s (but not 0), if its end isn't later than that already.
  std::optional<std::int64_t> lifetime_at_least_s;
  std::optional<IdleAction> lifetime_action;  ///< pause: lifetime_restarts is set with it
  std::optional<bool> resume_on_use;
  std::optional<Labels> annotations;
  /// Laid over the backend's parameters; null takes one back to its default. Only where the backend has `resize`.
  std::optional<nlohmann::json> params;
};

/// What a fork may ask for. Absent members are as in the source.
struct ForkSpec {
  std::int64_t count = 1;
  nlohmann::json params = nlohmann::json::object();  ///< over the source's
  std::optional<Labels> labels;
  std::optional<std::string> task;
  std::optional<std::int64_t> idle_ttl_s;
  std::optional<std::int64_t> lifetime_s;
  std::optional<IdleAction> idle_action;
  std::string idempotency_key;  ///< empty: none; each child has it with "-0", "-1" ... appended
};

struct ForkOutcome {
  std::string kept;  ///< "memory" | "filesystem"
  std::vector<Result<Sandbox>> children;  ///< in order, each made or with an error of its own
};

struct SnapshotSpec {
  std::string name;             ///< empty: the snapshot's id
  std::string idempotency_key;  ///< the same sandbox, name and key: the same snapshot
};

struct SnapshotListing {
  std::vector<Snapshot> snapshots;  ///< by id
  std::string next_cursor;          ///< empty: the end
};

/// Held for as long as an operation uses a sandbox: while one exists the sandbox isn't idle. Destroying it restarts
/// the idle clock.
class SandboxUse {
 public:
  virtual ~SandboxUse() = default;
  virtual const Sandbox& sandbox() const = 0;
  /// The Unix socket of the session endpoint (harena.session/1).
  virtual const std::string& endpoint() const = 0;
};

/// All methods are coroutines that never block the event loop; safe to call from any thread.
class Edge {
 public:
  virtual ~Edge() = default;
  virtual http::Task<std::vector<BackendListing>> backends() = 0;
  /// Admission, image, backend; on failure everything is undone. With an idempotency key: the sandbox that the key
  /// made, whatever its state; already_exists when the key came with another request.
  virtual http::Task<Result<Sandbox>> create(CallContext call, CreateSpec spec) = 0;
  virtual http::Task<Result<Sandbox>> get(const SandboxId& id) = 0;
  virtual http::Task<Result<SandboxPage>> list(SandboxFilter filter, std::string cursor, std::int64_t limit) = 0;
  virtual http::Task<Result<Sandbox>> update(CallContext call, const SandboxId& id, SandboxUpdate update) = 0;
  virtual http::Task<Result<Sandbox>> pause(CallContext call, const SandboxId& id) = 0;
  virtual http::Task<Result<Sandbox>> resume(CallContext call, const SandboxId& id) = 0;
  /// Idempotent. Returns the record in its terminal state.
  virtual http::Task<Result<Sandbox>> stop(CallContext call, const SandboxId& id, std::int64_t grace_ms) = 0;
  /// Children that have what the source has, on the same machine: each admitted, counted and recorded like a create.
  virtual http::Task<Result<ForkOutcome>> fork(CallContext call, const SandboxId& id, ForkSpec spec) = 0;
  virtual http::Task<Result<Snapshot>> snapshot(CallContext call, const SandboxId& id, SnapshotSpec spec) = 0;
  /// The files (with a backend that keeps it, the memory) are as in the snapshot again; what runs is ended. Idempotent.
  virtual http::Task<Result<Sandbox>> rollback(CallContext call, const SandboxId& id, const SandboxId& snapshot) = 0;
  virtual http::Task<Result<Snapshot>> get_snapshot(const SandboxId& id) = 0;
  virtual http::Task<Result<SnapshotListing>> list_snapshots(SnapshotFilter filter, std::string cursor, std::int64_t limit) = 0;
  /// Idempotent. What was made of it goes on.
  virtual http::Task<Status> delete_snapshot(CallContext call, const SandboxId& id) = 0;
  virtual http::Task<Result<nlohmann::json>> usage(const SandboxId& id) = 0;
  /// Resumes a paused sandbox first, transparently.
  virtual http::Task<Result<std::unique_ptr<SandboxUse>>> use(CallContext call, const SandboxId& id) = 0;
};

}  // namespace harena
