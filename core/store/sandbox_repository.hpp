#pragma once
// SandboxRepository: the sandboxes of one edge in its state store, and the idempotency keys of their creation.
//
//   SandboxRepository sandboxes(store);
//   HARENA_TRY(auto made, sandboxes.create(call, sandbox, idempotency_of(sandbox.spec)));
//   if (!made.created) return made.sandbox;   // the reply of an earlier create was lost
//
// The surprising rule: a terminal sandbox stays for SandboxRetention::keep_ms and is then purged, but its key is
// remembered for 24 hours after the end; a repeated create within them gets the terminal record back and never
// makes a second sandbox.

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/contracts/state_store.hpp"
#include "core/model/sandbox.hpp"

namespace harena {

/// How long terminal sandboxes can be looked at.
struct SandboxRetention {
  std::int64_t keep_ms = 3'600'000;             ///< after the end
  std::int64_t max_terminal = 100'000;          ///< over it the oldest go first, whatever their age
  std::int64_t idempotency_keep_ms = 86'400'000;  ///< after the end of the sandbox that the key made
};

struct IdempotencyKey {
  ProjectPath project = ProjectPath::root();
  std::string key;
  std::string request_hash;  ///< SHA-256 of the canonical request
};
/// nullopt when the spec has no key. The hash is of to_json(spec): equal specs, equal hashes.
std::optional<IdempotencyKey> idempotency_of(const CreateSpec& spec);

struct CreateOutcome {
  bool created = false;
  Sandbox sandbox;  ///< the new one, or what the key made earlier, in whatever state it is stored
};

/// A record that can't be read. It stays in the store: an operator decides.
struct DamagedRecord {
  std::string key;
  Error error;
};

struct LoadReport {
  std::int64_t loaded = 0;
  std::vector<DamagedRecord> damaged;
};

struct PurgeReport {
  std::int64_t sandboxes = 0;
  std::int64_t idempotency_keys = 0;
};

/// What a life writes (create, save, abandon) survives every end of harenad, but not a power cut within the next second
/// (Durability::process): the sandbox doesn't survive that either. What purge and remove write is synced.
/// Thread-safe, blocking. Calls for one sandbox are made one at a time (the lifecycle holds its lock). Errors of the
/// store pass through; `data_loss` for a record that can't be read, naming its key.
class SandboxRepository {
 public:
  /// `store` must outlive this.
  explicit SandboxRepository(StateStore& store, SandboxRetention retention = {})
      : store_(store), retention_(retention) {}

  /// Sandbox and key in one transaction, both absent before. With a key that is known: `created` is false and the
  /// sandbox is the one that it made; already_exists when the key came with another request. already_exists also
  /// for an id in use. When the store says that the outcome is unknown, a repetition with the same arguments is safe.
  Result<CreateOutcome> create(const CallContext& call, const Sandbox& sandbox,
                               const std::optional<IdempotencyKey>& key = std::nullopt);

  /// Writes the whole record if nobody else has since this repository last read or wrote it; else aborted. A terminal
  /// state enters the indexes of purge in the same transaction. not_found when it was removed.
  Status save(const CallContext& call, const Sandbox& sandbox);

  /// not_found names the id.
  Result<Sandbox> get(const CallContext& call, const SandboxId& id);

  /// Every stored sandbox by id, a page at a time; an error of `each` ends it and is returned. Damaged records are
  /// reported and passed over.
  Result<LoadReport> load_all(const CallContext& call, const std::function<Status(Sandbox)>& each);

  struct Page {
    std::vector<Sandbox> sandboxes;  ///< by id
    std::string next_cursor;         ///< empty: the end
  };
  /// Those after `cursor` (empty: from the first; else a next_cursor, which is an id) that match. `limit` is 1 to
  /// kMaxListLimit. A call reads at most kMaxListScan records, so a page may be short or even empty and not be the
  /// last: only an empty next_cursor is the end. Damaged records are passed over.
  Result<Page> list(const CallContext& call, const SandboxFilter& filter, const std::string& cursor,
                    std::int64_t limit);

  /// Removes the record now. Of a terminal sandbox the key stays until its time is up; of another the key goes too, as
  /// if it had never been made. ok when absent.
  Status remove(const CallContext& call, const SandboxId& id);

  /// Undoes create(): the record and the idempotency key that it was made with, in one transaction, so that a repeated
  /// create under the key tries anew. For a creation that failed. ok when absent.
  Status abandon(const CallContext& call, const Sandbox& sandbox);

  /// The sandbox that the key made, nullopt for an unknown key; already_exists when the hash is another.
  Result<std::optional<Sandbox>> find_idempotent(const CallContext& call, const IdempotencyKey& key);

  /// Removes the terminal sandboxes and the keys whose time is up. Reads only what is due (and once, to count, the
  /// index of ends). Idempotent; an interrupted purge leaves whole records. aborted when a record changed meanwhile:
  /// the next purge goes on.
  Result<PurgeReport> purge(const CallContext& call, std::int64_t now_ms);

  static constexpr std::int64_t kMaxListLimit = 1'000;
  static constexpr std::int64_t kMaxListScan = 10'000;

 private:
  /// What this repository knows of a record: its revision, and the end that the indexes hold (0: none).
  struct Known {
    std::int64_t revision = 0;
    std::int64_t ended_ms = 0;
  };
  Result<Known> known(const CallContext& call, const SandboxId& id);
  void remember(const SandboxId& id, Known known);
  void forget(const SandboxId& id);
  Result<CreateOutcome> after_conflict(const CallContext& call, const Sandbox& sandbox,
                                       const std::optional<IdempotencyKey>& key, Error conflict);
  Result<std::optional<Sandbox>> find_by_key(const CallContext& call, const IdempotencyKey& key);
  std::vector<StateOp> save_ops(const Sandbox& sandbox, const Known& known) const;
  void count_terminal(std::int64_t by);
  Result<std::int64_t> surplus(const CallContext& call);
  Result<std::vector<StateOp>> removal_ops(const CallContext& call, const StateEntry& entry, const Sandbox& sandbox);
  Result<std::vector<StateOp>> purge_ops(const CallContext& call, const StateEntry& due);
  Result<std::vector<StateOp>> key_purge_ops(const CallContext& call, const StateEntry& due);
  Result<std::int64_t> purge_sandboxes(const CallContext& call, std::int64_t now_ms);
  Result<std::int64_t> purge_keys(const CallContext& call, std::int64_t now_ms);

  StateStore& store_;
  const SandboxRetention retention_;
  static constexpr std::int64_t kUncounted = -1;
  std::mutex mutex_;
  std::unordered_map<SandboxId, Known> known_;  // of sandboxes that aren't terminal
  std::int64_t terminal_ = kUncounted;
};

}  // namespace harena
