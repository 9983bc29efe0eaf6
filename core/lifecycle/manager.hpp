#pragma once
// SandboxManager drives the state table: create, the verbs, endings, recovery. Every method blocks and is meant for
// worker threads; fast_use() and find() alone are safe on an event loop.
//
// The rule that makes every crash mendable: what is about to be made is written down first, what has been made is
// written down before anyone hears of it. A restart finds `creating` (undo), a transient state (ask the backend) or a
// stable one (ask the backend), and nothing else. core/lifecycle/README.md has the table.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/contracts/edge.hpp"
#include "core/contracts/images.hpp"
#include "core/iam/quota.hpp"
#include "core/lifecycle/admission.hpp"
#include "core/lifecycle/backend_registry.hpp"
#include "core/lifecycle/sandbox_table.hpp"
#include "core/store/event_repository.hpp"
#include "core/store/sandbox_repository.hpp"
#include "core/store/snapshot_repository.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/base/random.hpp"
#include "sdk/base/serial_worker.hpp"

namespace harena {

struct LifecycleOptions {
  std::string edge_code;
  std::string run_dir;    ///< each sandbox's volatile folder is run_dir/sandboxes/ID
  std::string state_dir;  ///< each sandbox's lasting folder is state_dir/sandboxes/ID
  AdmissionLimits admission;
  std::function<HostRoom()> host_room;
};

/// What the manager works with; everything outlives it. All thread-safe.
struct LifecycleParts {
  SandboxRepository& repository;
  SnapshotRepository& snapshots;
  const BackendRegistry& backends;
  ImageResolver& images;
  QuotaLedger& quotas;
  Clock& clock;
  RandomSource& random;
  /// Something that an operator should know (`level` as in logs). May be called from any thread.
  std::function<void(std::string level, std::string message)> notice;
  EventRepository* events = nullptr;  ///< the trail; null: none is kept
};

class SandboxManager {
 public:
  SandboxManager(LifecycleOptions options, LifecycleParts parts);

  /// Creates, or answers what the idempotency key made before. On failure nothing stays, the key neither.
  Result<Sandbox> create(const CallContext& call, const CreateSpec& spec);
  /// Also those that have ended and are still remembered. not_found for others.
  Result<Sandbox> get(const CallContext& call, const SandboxId& id);
  Result<SandboxPage> list(const CallContext& call, const SandboxFilter& filter, const std::string& cursor, std::int64_t limit);
  Result<Sandbox> update(const CallContext& call, const SandboxId& id, const SandboxUpdate& update);
  Result<Sandbox> pause(const CallContext& call, const SandboxId& id);
  Result<Sandbox> resume(const CallContext& call, const SandboxId& id);
  /// Idempotent. `why` is what the record keeps as its ending.
  Result<Sandbox> stop(const CallContext& call, const SandboxId& id, std::int64_t grace_ms, Ending why = {});
  Result<ForkOutcome> fork(const CallContext& call, const SandboxId& id, const ForkSpec& spec);
  Result<Snapshot> snapshot(const CallContext& call, const SandboxId& id, const SnapshotSpec& spec);
  /// failed_precondition for a snapshot of another backend or of other image layers.
  Result<Sandbox> rollback(const CallContext& call, const SandboxId& id, const SandboxId& snapshot);
  Result<Snapshot> get_snapshot(const CallContext& call, const SandboxId& id);
  Result<SnapshotListing> list_snapshots(const CallContext& call, const SnapshotFilter& filter, const std::string& cursor, std::int64_t limit);
  Status delete_snapshot(const CallContext& call, const SandboxId& id);
  Result<nlohmann::json> usage(const CallContext& call, const SandboxId& id);

  /// Begins a use; resumes a paused sandbox first.
  Result<std::unique_ptr<SandboxUse>> use(const CallContext& call, const SandboxId& id);
  /// The same for one that is running, without blocking; null when it isn't.
  std::unique_ptr<SandboxUse> fast_use(const SandboxId& id);
  /// A living sandbox's record, without blocking.
  std::optional<Sandbox> find(const SandboxId& id) const;

  /// At start, before the API listens: mends what a crash left. Returns how many sandboxes go on.
  Result<std::size_t> recover();
  /// Forgets ended sandboxes and old idempotency keys whose time is up. Call it every minute or so.
  Status purge();
  /// Takes the idle actions and ends that are due. Call it every second or so.
  void tick(const std::function<void(std::function<void()>)>& run_in_background);
  /// From the backends, any thread: a sandbox ended by itself.
  void on_exit(const SandboxId& id, Ending ending);

  /// True when sandboxes live in exactly this project or below it.
  bool has_living_in(const ProjectPath& project) const;
  /// True while a creation has been asked to give up.
  bool cancelling(const SandboxId& id) const;
  /// Waits until nothing is left of the sandboxes that have ended: their answers come when their processes are dead. [blocking]
  void wait_removed() { remains_.wait_idle(); }
  std::size_t living() const { return table_.size(); }
  /// What this machine has promised to those who live.
  Resources promised() const { return table_.promised(); }
  const BackendRegistry& backends() const { return parts_.backends; }

 private:
  friend class Creation;
  friend class Forking;
  friend class Recovery;
  friend class Resizing;
  /// not_found for one that is being made or deleted.
  Result<Snapshot> ready_snapshot(const CallContext& call, const SandboxId& id);
  Result<Snapshot> take_snapshot(const CallContext& call, const Sandbox& source, const BackendEntry& entry, Snapshot snapshot);
  Status drop_snapshot(Snapshot snapshot);
  std::string snapshot_folder(const SandboxId& id) const;

  /// What a sandbox counts for in its project and above: its limits, defaults included.
  static QuotaAmount quota_of(const Sandbox& sandbox);
  /// not_found for an id that isn't known; failed_precondition, naming its state, for one that has ended.
  Result<LivePtr> alive(const CallContext& call, const SandboxId& id, Verb verb);
  Result<BackendEntry> backend_of(const Sandbox& sandbox) const;
  /// Writes the record with `state` to the store, then to the live object. The caller holds the verb lock.
  Status move(const CallContext& call, LiveSandbox& live, SandboxState state, const std::function<void(Sandbox&)>& change = {});
  /// Record and quotas together; `also` changes what else the update asked for.
  Status hand_over(const CallContext& call, LiveSandbox& live, const SandboxOwner& owner, const std::function<void(Sandbox&)>& also);
  Result<Sandbox> stop_locked(const CallContext& call, LiveSandbox& live, std::int64_t grace_ms, const Ending& why);
  /// Ends a sandbox whose processes are gone already.
  void bury(const LivePtr& live, const Ending& ending);
  Result<Sandbox> finish(const CallContext& call, LiveSandbox& live, SandboxState terminal, const Ending& ending);
  /// A line of the trail about a sandbox; on return it is in the store.
  Status record_event(const CallContext& call, const Sandbox& sandbox, const std::string& type, const std::string& detail);
  void remove_folders(const SandboxId& id) const;
  /// Of one that has ended and is no longer in the table.
  void remove_remains(const SandboxId& id, const std::string& backend) const;
  std::string run_folder(const SandboxId& id) const;
  std::string state_folder(const SandboxId& id) const;
  void take_idle_action(const LivePtr& live);
  void take_lifetime_action(const LivePtr& live);

  LifecycleOptions options_;
  LifecycleParts parts_;
  Admission admission_;
  SandboxTable table_;
  /// Removes what is left of sandboxes that have ended, after the answer. Its journal is what it works on: folders and groups are named
  /// by ids, so a start finds what it didn't come to (orphan folders, the backends' sweep). Last: its thread uses the others.
  SerialWorker remains_;
};

}  // namespace harena
