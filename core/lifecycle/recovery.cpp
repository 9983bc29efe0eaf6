#include "core/lifecycle/recovery.hpp"

#include "core/lifecycle/resizing.hpp"

#include <filesystem>
#include <set>

namespace harena {

Result<std::size_t> SandboxManager::recover() { return Recovery(*this).run(); }

Result<std::size_t> Recovery::run() {
  std::vector<Sandbox> living;
  HARENA_TRY(const auto report, manager_.parts_.repository.load_all({}, [&](Sandbox record) {
    if (!is_terminal(record.state)) living.push_back(std::move(record));
    return ok_status();
  }));
  for (const auto& damaged : report.damaged) {
    manager_.parts_.notice("error", "record " + damaged.key + " can't be read: " + damaged.error.describe());
  }
  for (const auto& record : living) recover_one(record);
  mend_snapshots();
  sweep_backends();
  remove_orphan_folders(manager_.options_.run_dir + "/sandboxes");
  remove_orphan_folders(manager_.options_.state_dir + "/sandboxes");
  return manager_.table_.size();
}

void Recovery::recover_one(const Sandbox& record) {
  auto live = std::make_shared<LiveSandbox>(record, manager_.parts_.clock.monotonic_ns());
  live->finish_creation(std::nullopt);
  manager_.table_.insert(record.id, live);
  const auto entry = manager_.backend_of(record);
  if (!entry.ok()) {
    // Its backend may be enabled again: nothing is decided about it, and its folders stay.
    manager_.parts_.notice("warning", record.id.str() + ": " + entry.error().message);
    return;
  }
  live->reservation() = manager_.parts_.quotas.adopt(record.spec.project, SandboxManager::quota_of(record));
  if (record.state == SandboxState::creating) return undo_creation(live, *entry);
  if (record.state == SandboxState::stopping) {
    const auto stopped = manager_.stop_locked({}, *live, 0, record.ending);
    if (!stopped.ok()) manager_.parts_.notice("warning", stopped.error().describe());  // tick() repeats it.
    return;
  }
  find_again(live, *entry);
}

void Recovery::undo_creation(const LivePtr& live, const BackendEntry& entry) {
  const Sandbox record = live->snapshot();
  const auto stopped = entry.backend->stop({}, record.id, 0);
  manager_.remove_folders(record.id);
  const Status removed = stopped.ok() ? manager_.parts_.repository.abandon({}, record) : Status(stopped.error());
  if (!removed.ok()) {
    manager_.parts_.notice("error", "undoing the create of " + record.id.str() + ": " + removed.error().describe());
    return;
  }
  live->reservation().release();
  manager_.table_.erase(record.id);
}

void Recovery::find_again(const LivePtr& live, const BackendEntry& entry) {
  const Sandbox record = live->snapshot();
  const auto found = entry.backend->recover({}, record.id, record.backend_state);
  if (!found.ok()) {
    manager_.parts_.notice("error", "recovering " + record.id.str() + ": " + found.error().describe());
    return;  // Not known to be gone: it stays as it is, and a stop still works.
  }
  if (found->status == BackendRecovered::Status::gone) {
    const auto cause = cause_from_string(found->cause).value_or(Cause::infrastructure);
    manager_.bury(live, {cause, found->detail, "it was gone when the edge came back"});
    return;
  }
  const bool paused = found->status == BackendRecovered::Status::paused;
  // Not by move(): from `resuming` to `paused` and the like there need not be an arrow, the backend's word decides.
  Sandbox next = record;
  next.state = paused ? SandboxState::paused : SandboxState::running;
  next.expires_ms = end_after(next, record.state, manager_.parts_.clock.wall_ms());
  next.session_endpoint = found->session_endpoint;
  if (const auto saved = manager_.parts_.repository.save({}, next); !saved.ok()) {
    manager_.parts_.notice("error", saved.error().describe());
  }
  live->replace(std::move(next));
  finish_resize(live, record.state == SandboxState::running && paused);
}

void Recovery::finish_resize(const LivePtr& live, bool left_standing) {
  const Sandbox record = live->snapshot();
  if (!record.resizing) return;
  if (const auto settled = Resizing(manager_, {}, *live).settle(); !settled.ok()) {
    manager_.parts_.notice("error", settled.error().describe());  // The next resize tries again.
  }
  // It stood still while it was being changed; who died then couldn't let it go on.
  if (!left_standing) return;
  if (const auto resumed = manager_.resume({}, record.id); !resumed.ok()) {
    manager_.parts_.notice("error", resumed.error().describe());
  }
}

void Recovery::sweep_backends() {
  const auto known = manager_.table_.ids();
  for (const auto& [name, entry] : manager_.parts_.backends.all()) {
    const auto removed = entry.backend->sweep({}, known);
    if (!removed.ok()) {
      manager_.parts_.notice("warning", "sweeping " + name + ": " + removed.error().describe());
    } else if (!removed->empty()) {
      manager_.parts_.notice("info", name + ": removed " + std::to_string(removed->size()) + " orphans");
    }
  }
}

void Recovery::remove_orphan_folders(const std::string& parent) {
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(parent, problem)) {
    const auto id = SandboxId::parse(entry.path().filename().string());
    // What isn't named like a sandbox of this edge isn't ours.
    if (!id.ok() || id->edge_code() != manager_.options_.edge_code || manager_.table_.find(*id)) continue;
    std::filesystem::remove_all(entry.path(), problem);
  }
}

}  // namespace harena
