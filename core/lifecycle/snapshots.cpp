// Snapshots: taken, listed, deleted; a sandbox brought back to one; and what a crash leaves of them.
#include <filesystem>
#include <set>

#include "core/lifecycle/private_folder.hpp"
#include "core/lifecycle/recovery.hpp"

namespace harena {

namespace {

/// An earlier request under the same key, whose answer was lost.
bool is_repeat(const Snapshot& earlier, const Sandbox& source, const SnapshotSpec& spec) {
  return !spec.idempotency_key.empty() && earlier.idempotency_key == spec.idempotency_key && earlier.sandbox_id == source.id.str() &&
         earlier.state == SnapshotState::ready;
}

/// Again while its backend still writes in it (a digest of what it holds, behind the answer to its making).
std::error_code remove_snapshot_folder(const std::filesystem::path& folder) {
  constexpr int kMostTries = 20;
  std::error_code problem;
  for (int i = 0; i < kMostTries; ++i) {
    std::filesystem::remove_all(folder, problem);
    if (problem != std::errc::directory_not_empty) break;
  }
  return problem;
}

}  // namespace

std::string SandboxManager::snapshot_folder(const SandboxId& id) const { return options_.state_dir + "/snapshots/" + id.str(); }

Result<Snapshot> SandboxManager::snapshot(const CallContext& call, const SandboxId& id, const SnapshotSpec& spec) {
  HARENA_TRY(const auto live, alive(call, id, Verb::snapshot));
  std::lock_guard verb(live->verb_mutex);
  HARENA_TRY_STATUS(check_verb(Verb::snapshot, live->state()));
  const Sandbox source = live->snapshot();
  HARENA_TRY(const auto entry, backend_of(source));
  const auto& description = entry.backend->describe();
  if (!description.verbs.contains("snapshot")) return absent_verb(description, "snapshot");
  Snapshot record{.id = SandboxId::generate(options_.edge_code, parts_.random), .spec = source.spec};
  record.name = spec.name.empty() ? record.id.str() : spec.name;
  record.idempotency_key = spec.idempotency_key;
  HARENA_TRY(const auto earlier, parts_.snapshots.find(call, source.spec.project, record.name));
  if (earlier && is_repeat(*earlier, source, spec)) return *earlier;
  live->begin_use(parts_.clock.monotonic_ns());  // as any other use of it
  auto taken = take_snapshot(call, source, entry, std::move(record));
  live->end_use(parts_.clock.monotonic_ns());
  return taken;
}

Result<Snapshot> SandboxManager::take_snapshot(const CallContext& call, const Sandbox& source, const BackendEntry& entry, Snapshot snapshot) {
  snapshot.spec.idempotency_key.clear();
  snapshot.sandbox_id = source.id.str();
  snapshot.promised = source.promised;
  snapshot.created_by = call.principal;
  snapshot.created_ms = parts_.clock.wall_ms();
  snapshot.layer_digests = source.layer_digests;
  snapshot.image_config = source.image_config;
  HARENA_TRY_STATUS(parts_.snapshots.create(call, snapshot));
  const std::string folder = snapshot_folder(snapshot.id);
  Status made = make_private_folder(folder);
  auto taken = made.ok() ? entry.backend->snapshot(call, source.id, snapshot.id, folder) : Result<BackendSnapshot>(std::move(made).error());
  if (taken.ok()) {
    snapshot.state = SnapshotState::ready;
    snapshot.kept = taken->kept;
    snapshot.backend_state = taken->state;
    snapshot.details = taken->details;
    made = parts_.snapshots.save(call, snapshot);
    if (made.ok()) return snapshot;
  }
  Error why = taken.ok() ? std::move(made).error() : std::move(taken).error();
  if (const auto dropped = drop_snapshot(snapshot); !dropped.ok()) parts_.notice("warning", dropped.error().describe());
  return std::move(why).during("taking a snapshot of " + source.id.str());
}

/// Folder first: a backend takes a snapshot without its folder for deleted.
Status SandboxManager::drop_snapshot(Snapshot snapshot) {
  snapshot.state = SnapshotState::deleting;
  HARENA_TRY_STATUS(parts_.snapshots.save({}, snapshot));
  if (const auto problem = remove_snapshot_folder(snapshot_folder(snapshot.id))) {
    return make_error(ErrorCode::unavailable, "removing the folder of snapshot " + snapshot.id.str() + ": " + problem.message());
  }
  if (const auto entry = parts_.backends.find(snapshot.spec.backend); entry.ok()) {
    HARENA_TRY_STATUS(entry->backend->stop({}, snapshot.id, 0));
  }
  return parts_.snapshots.remove({}, snapshot);
}

Result<Snapshot> SandboxManager::get_snapshot(const CallContext& call, const SandboxId& id) { return parts_.snapshots.get(call, id); }

Result<Snapshot> SandboxManager::ready_snapshot(const CallContext& call, const SandboxId& id) {
  HARENA_TRY(auto snapshot, parts_.snapshots.get(call, id));
  if (snapshot.state == SnapshotState::ready) return snapshot;
  return make_error(ErrorCode::not_found, "snapshot '" + snapshot.name + "' is " + std::string(to_string(snapshot.state)));
}

Result<SnapshotListing> SandboxManager::list_snapshots(const CallContext& call, const SnapshotFilter& filter, const std::string& cursor,
                                                       std::int64_t limit) {
  HARENA_TRY(auto page, parts_.snapshots.list(call, filter, cursor, limit));
  return SnapshotListing{std::move(page.snapshots), std::move(page.next_cursor)};
}

Status SandboxManager::delete_snapshot(const CallContext& call, const SandboxId& id) {
  auto snapshot = parts_.snapshots.get(call, id);
  if (!snapshot.ok()) return snapshot.error().code == ErrorCode::not_found ? ok_status() : Status(std::move(snapshot).error());
  if (snapshot->state == SnapshotState::creating) {
    return make_error(ErrorCode::failed_precondition, "snapshot '" + snapshot->name + "' is being taken; delete it when it is ready");
  }
  return drop_snapshot(*std::move(snapshot));
}

Result<Sandbox> SandboxManager::rollback(const CallContext& call, const SandboxId& id, const SandboxId& snapshot_id) {
  HARENA_TRY(const auto live, alive(call, id, Verb::rollback));
  std::lock_guard verb(live->verb_mutex);
  HARENA_TRY_STATUS(check_verb(Verb::rollback, live->state()));
  const Sandbox sandbox = live->snapshot();
  HARENA_TRY(const auto entry, backend_of(sandbox));
  const auto& description = entry.backend->describe();
  if (!description.verbs.contains("rollback")) return absent_verb(description, "rollback");
  HARENA_TRY(const auto snapshot, ready_snapshot(call, snapshot_id));
  if (snapshot.spec.backend != sandbox.spec.backend || snapshot.layer_digests != sandbox.layer_digests) {
    return make_error(ErrorCode::failed_precondition, "snapshot '" + snapshot.name + "' was taken of sandbox " + snapshot.sandbox_id +
                                                          " on another image or backend; " + id.str() +
                                                          " can go back to snapshots of itself, of what it came from and of its forks");
  }
  live->begin_use(parts_.clock.monotonic_ns());
  auto done = entry.backend->rollback(call, id, snapshot.backend_state);
  live->end_use(parts_.clock.monotonic_ns());
  if (!done.ok()) return std::move(done).error().during("rolling " + id.str() + " back");
  return live->snapshot();
}

/// Those that a crash left half-made or half-deleted, and folders without a record.
void Recovery::mend_snapshots() {
  std::vector<Snapshot> broken;
  std::set<std::string> known;
  const auto read = manager_.parts_.snapshots.each({}, [&](Result<Snapshot> snapshot) {
    if (!snapshot.ok()) {
      manager_.parts_.notice("error", snapshot.error().describe());
      return;
    }
    known.insert(snapshot->id.str());
    if (snapshot->state != SnapshotState::ready) broken.push_back(*std::move(snapshot));
  });
  if (!read.ok()) {
    manager_.parts_.notice("error", "reading the snapshots: " + read.error().describe());
    return;
  }
  for (auto& snapshot : broken) {
    const auto dropped = manager_.drop_snapshot(std::move(snapshot));
    if (!dropped.ok()) manager_.parts_.notice("warning", dropped.error().describe());
  }
  std::error_code problem;
  for (const auto& folder : std::filesystem::directory_iterator(manager_.options_.state_dir + "/snapshots", problem)) {
    const auto id = SandboxId::parse(folder.path().filename().string());
    if (!id.ok() || id->edge_code() != manager_.options_.edge_code || known.contains(id->str())) continue;
    std::filesystem::remove_all(folder.path(), problem);
  }
}

}  // namespace harena
