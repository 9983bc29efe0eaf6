#include "core/store/snapshot_repository.hpp"

#include "core/store/keys.hpp"
#include "core/store/pages.hpp"

namespace harena {

namespace {

constexpr std::string_view kSnapshots = "/v1/snapshots/";
constexpr std::string_view kNames = "/v1/snapshot-names/";

std::string key_of(const SandboxId& id) { return std::string(kSnapshots) + id.str(); }
/// A project has no ':' and neither has a name.
std::string name_key(const ProjectPath& project, const std::string& name) { return std::string(kNames) + project.str() + ":" + name; }
std::string name_key(const Snapshot& snapshot) { return name_key(snapshot.spec.project, snapshot.name); }

Result<Snapshot> snapshot_of(const StateEntry& entry) {
  HARENA_TRY(const auto value, parse_record(entry));
  auto snapshot = snapshot_from_stored_json(value);
  if (!snapshot) return std::move(snapshot).error().during("reading the record '" + entry.key + "'");
  return snapshot;
}

}  // namespace

Status SnapshotRepository::create(const CallContext& call, const Snapshot& snapshot) {
  const auto made = store_.txn(call, {StateOp::check(key_of(snapshot.id), 0), StateOp::check(name_key(snapshot), 0),
                                      StateOp::put(key_of(snapshot.id), record_text(to_stored_json(snapshot))),
                                      StateOp::put(name_key(snapshot), snapshot.id.str())});
  if (made) return ok_status();
  if (made.error().code != ErrorCode::aborted) return made.error();
  return make_error(ErrorCode::already_exists, "the project '" + snapshot.spec.project.str() + "' has a snapshot '" + snapshot.name +
                                                   "' already; delete it, or take another name");
}

Status SnapshotRepository::save(const CallContext& call, const Snapshot& snapshot) {
  HARENA_TRY_STATUS(store_.txn(call, {StateOp::put(key_of(snapshot.id), record_text(to_stored_json(snapshot)))}));
  return ok_status();
}

Result<Snapshot> SnapshotRepository::get(const CallContext& call, const SandboxId& id) {
  HARENA_TRY(const auto entry, store_.get(call, key_of(id)));
  if (!entry) return make_error(ErrorCode::not_found, "there is no snapshot '" + id.str() + "'");
  return snapshot_of(*entry);
}

Result<std::optional<Snapshot>> SnapshotRepository::find(const CallContext& call, const ProjectPath& project, const std::string& name) {
  HARENA_TRY(const auto entry, store_.get(call, name_key(project, name)));
  if (!entry) return std::optional<Snapshot>();
  HARENA_TRY(const auto id, SandboxId::parse(entry->value));
  HARENA_TRY(auto snapshot, get(call, id));
  return std::optional(std::move(snapshot));
}

Status SnapshotRepository::remove(const CallContext& call, const Snapshot& snapshot) {
  HARENA_TRY_STATUS(store_.txn(call, {StateOp::remove(key_of(snapshot.id)), StateOp::remove(name_key(snapshot))}));
  return ok_status();
}

Result<SnapshotPage> SnapshotRepository::list(const CallContext& call, const SnapshotFilter& filter, const std::string& cursor,
                                              std::int64_t limit) {
  const std::string start = cursor.empty() ? "" : keys::successor(std::string(kSnapshots) + cursor);
  SnapshotPage page;
  const auto visit = [&](const StateEntry& entry) -> Result<bool> {
    auto snapshot = snapshot_of(entry);
    if (snapshot && matches(filter, *snapshot)) page.snapshots.push_back(*std::move(snapshot));
    const bool full = static_cast<std::int64_t>(page.snapshots.size()) == limit;
    if (full) page.next_cursor = entry.key.substr(kSnapshots.size());
    return !full;
  };
  HARENA_TRY_STATUS(for_each_entry(store_, call, kSnapshots, start, visit));
  return page;
}

Status SnapshotRepository::each(const CallContext& call, const std::function<void(Result<Snapshot>)>& visit) {
  return for_each_entry(store_, call, kSnapshots, "", [&](const StateEntry& entry) -> Result<bool> {
    visit(snapshot_of(entry));
    return true;
  });
}

}  // namespace harena
