#include "core/store/sandbox_repository.hpp"

#include <algorithm>

#include "core/store/idempotency.hpp"
#include "core/store/keys.hpp"
#include "core/store/pages.hpp"

namespace harena {
namespace {

Result<Sandbox> sandbox_of(const StateEntry& entry) {
  HARENA_TRY(const auto value, parse_record(entry));
  auto sandbox = sandbox_from_stored_json(value);
  if (!sandbox) return std::move(sandbox).error().during("reading the record '" + entry.key + "'");
  return sandbox;
}

Error no_such_sandbox(const SandboxId& id) {
  return make_error(ErrorCode::not_found, "there is no sandbox '" + id.str() + "'");
}

std::int64_t end_of(const Sandbox& sandbox) { return is_terminal(sandbox.state) ? sandbox.changed_ms : 0; }

}  // namespace

void SandboxRepository::remember(const SandboxId& id, Known known) {
  std::lock_guard lock(mutex_);
  if (known.ended_ms == 0) {
    known_.insert_or_assign(id, known);
  } else {
    known_.erase(id);  // read again in the rare case that it is written again
  }
}

void SandboxRepository::forget(const SandboxId& id) {
  std::lock_guard lock(mutex_);
  known_.erase(id);
}

Result<SandboxRepository::Known> SandboxRepository::known(const CallContext& call, const SandboxId& id) {
  {
    std::lock_guard lock(mutex_);
    if (const auto it = known_.find(id); it != known_.end()) return it->second;
  }
  HARENA_TRY(const auto entry, store_.get(call, keys::sandbox(id)));
  if (!entry) return no_such_sandbox(id);
  HARENA_TRY(const auto sandbox, sandbox_of(*entry));
  return Known{entry->revision, end_of(sandbox)};
}

Result<CreateOutcome> SandboxRepository::create(const CallContext& call, const Sandbox& sandbox,
                                                const std::optional<IdempotencyKey>& key) {
  std::vector<StateOp> ops{StateOp::check(keys::sandbox(sandbox.id), 0)};
  if (key) {
    const std::string name = keys::idempotency(key->project, key->key);
    ops.push_back(StateOp::check(name, 0));
    ops.push_back(StateOp::put(name, record_text(to_json(IdempotencyRecord{key->request_hash, sandbox.id, {}}))));
  }
  for (auto& op : save_ops(sandbox, {})) ops.push_back(std::move(op));
  auto revision = store_.txn(call, ops, Durability::process);
  if (!revision && revision.error().code == ErrorCode::aborted) {
    return after_conflict(call, sandbox, key, std::move(revision).error());
  }
  if (!revision) return std::move(revision).error().during("storing the new sandbox " + sandbox.id.str());
  remember(sandbox.id, {*revision, end_of(sandbox)});
  return CreateOutcome{true, sandbox};
}

Result<CreateOutcome> SandboxRepository::after_conflict(const CallContext& call, const Sandbox& sandbox,
                                                        const std::optional<IdempotencyKey>& key, Error conflict) {
  if (key) {
    HARENA_TRY(auto earlier, find_idempotent(call, *key));
    if (earlier) {
      // Our own create whose answer was lost, or an earlier request's.
      const bool ours = earlier->id == sandbox.id;
      return CreateOutcome{ours, std::move(*earlier)};
    }
  }
  HARENA_TRY(const auto entry, store_.get(call, keys::sandbox(sandbox.id)));
  if (!entry) return conflict;  // a key that vanished between the two reads: repeat
  return make_error(ErrorCode::already_exists, "the sandbox id '" + sandbox.id.str() + "' is in use");
}

std::vector<StateOp> SandboxRepository::save_ops(const Sandbox& sandbox, const Known& known) const {
  std::vector<StateOp> ops{StateOp::put(keys::sandbox(sandbox.id), record_text(to_stored_json(sandbox)))};
  const std::int64_t end = end_of(sandbox);
  if (end == known.ended_ms) return ops;
  const std::int64_t keep = retention_.idempotency_keep_ms;
  const bool keyed = !sandbox.spec.idempotency_key.empty();
  if (known.ended_ms != 0) {
    ops.push_back(StateOp::remove(keys::ended(known.ended_ms, sandbox.id)));
    if (keyed) ops.push_back(StateOp::remove(keys::idempotency_ends(known.ended_ms + keep, sandbox.id)));
  }
  if (end == 0) return ops;
  ops.push_back(StateOp::put(keys::ended(end, sandbox.id), ""));
  if (keyed) {
    ops.push_back(StateOp::put(keys::idempotency_ends(end + keep, sandbox.id),
                               keys::idempotency(sandbox.spec.project, sandbox.spec.idempotency_key)));
  }
  return ops;
}

Status SandboxRepository::save(const CallContext& call, const Sandbox& sandbox) {
  HARENA_TRY(const auto before, known(call, sandbox.id));
  auto ops = save_ops(sandbox, before);
  ops.insert(ops.begin(), StateOp::check(keys::sandbox(sandbox.id), before.revision));
  auto revision = store_.txn(call, ops, Durability::process);
  if (!revision) {
    // Whether it was written may be unknown: the next call reads what is there.
    forget(sandbox.id);
    count_terminal(kUncounted);
    return std::move(revision).error().during("storing sandbox " + sandbox.id.str());
  }
  remember(sandbox.id, {*revision, end_of(sandbox)});
  if (before.ended_ms == 0 && end_of(sandbox) != 0) count_terminal(1);
  return ok_status();
}

Result<Sandbox> SandboxRepository::get(const CallContext& call, const SandboxId& id) {
  HARENA_TRY(const auto entry, store_.get(call, keys::sandbox(id)));
  if (!entry) return no_such_sandbox(id);
  return sandbox_of(*entry);
}

Result<LoadReport> SandboxRepository::load_all(const CallContext& call,
                                               const std::function<Status(Sandbox)>& each) {
  LoadReport report;
  HARENA_TRY_STATUS(for_each_entry(store_, call, keys::kSandboxes, "", [&](const StateEntry& entry) -> Result<bool> {
    auto sandbox = sandbox_of(entry);
    if (!sandbox) {
      report.damaged.push_back({entry.key, std::move(sandbox).error()});
      return true;
    }
    remember(sandbox->id, {entry.revision, end_of(*sandbox)});
    ++report.loaded;
    HARENA_TRY_STATUS(each(std::move(*sandbox)));
    return true;
  }));
  return report;
}

Result<SandboxRepository::Page> SandboxRepository::list(const CallContext& call, const SandboxFilter& filter,
                                                        const std::string& cursor, std::int64_t limit) {
  if (limit < 1 || limit > kMaxListLimit) {
    return make_error(ErrorCode::invalid_argument, "limit is " + std::to_string(limit) + "; it must be from 1 to " +
                                                       std::to_string(kMaxListLimit));
  }
  std::string start;
  if (!cursor.empty()) {
    HARENA_TRY(const auto id, SandboxId::parse(cursor));
    start = keys::successor(keys::sandbox(id));
  }
  Page page;
  std::int64_t scanned = 0;
  const auto visit = [&](const StateEntry& entry) -> Result<bool> {
    auto sandbox = sandbox_of(entry);
    if (sandbox && matches(filter, *sandbox)) page.sandboxes.push_back(std::move(*sandbox));
    const bool full = static_cast<std::int64_t>(page.sandboxes.size()) == limit || ++scanned == kMaxListScan;
    if (full) page.next_cursor = entry.key.substr(keys::kSandboxes.size());
    return !full;
  };
  HARENA_TRY_STATUS(for_each_entry(store_, call, keys::kSandboxes, start, visit));
  return page;
}

Result<std::optional<Sandbox>> SandboxRepository::find_by_key(const CallContext& call, const IdempotencyKey& key) {
  HARENA_TRY(const auto entry, store_.get(call, keys::idempotency(key.project, key.key)));
  if (!entry) return std::optional<Sandbox>();
  HARENA_TRY(auto record, idempotency_from_entry(*entry));
  if (record.request_hash != key.request_hash) {
    return make_error(ErrorCode::already_exists,
                      "the idempotency key '" + key.key + "' was used in project '" + key.project.str() +
                          "' for another request, which made sandbox " + record.sandbox_id.str() +
                          "; a new request needs a new key");
  }
  if (record.remembered) return std::move(record.remembered);
  auto sandbox = get(call, record.sandbox_id);
  if (!sandbox) return std::move(sandbox).error();
  return std::optional<Sandbox>(std::move(*sandbox));
}

Result<std::optional<Sandbox>> SandboxRepository::find_idempotent(const CallContext& call,
                                                                  const IdempotencyKey& key) {
  auto found = find_by_key(call, key);
  if (found || found.error().code != ErrorCode::not_found) return found;
  return find_by_key(call, key);  // purged between the two reads: by now the key remembers it
}

}  // namespace harena
