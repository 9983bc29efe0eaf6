#pragma once
// StateStorePlugin: harena.state-store/1 for authors in C++; sdk/abi/state_store.h says what each function promises.
// The wrapper has checked keys, values, counts and limits against the contract before a method is called.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/abi/state_store.h"
#include "sdk/cpp/guard.hpp"
#include "sdk/cpp/host.hpp"

namespace harena::plugin {

/// Borrows its texts from the call.
struct StateOp {
  enum class Kind : std::uint32_t { check = HARENA_STATE_CHECK, put = HARENA_STATE_PUT, remove = HARENA_STATE_DELETE };
  Kind kind = Kind::check;
  std::string_view key;
  std::string_view value;
  std::int64_t revision = 0;
};

class StateStorePlugin {
 public:
  static constexpr std::string_view kContract = HARENA_STATE_STORE_CONTRACT;
  virtual ~StateStorePlugin() = default;

  /// [any] call.emit(key, value, revision) once, or never when absent. Returns the store's revision that was read.
  virtual Result<std::int64_t> get(const Call& call, std::string_view key) = 0;
  /// [any] call.emit for start <= key < end (empty: no bound) in the order of bytes, at most `limit`, all of one
  /// revision, which is returned.
  virtual Result<std::int64_t> range(const Call& call, std::string_view start, std::string_view end,
                                     std::int64_t limit) = 0;
  /// [any] All or nothing, durable; with call.has_flag(HARENA_STATE_RELAXED) it may reach the disk within a second. aborted names the key of a failed check. Returns the revision.
  virtual Result<std::int64_t> txn(const Call& call, std::span<const StateOp> ops) = 0;
  /// [any] call.emit / call.emit_deleted for each change after `after_revision`; blocks until the call ends.
  virtual Status watch(const Call& call, std::string_view prefix, std::int64_t after_revision) = 0;
};

namespace detail {

inline Error bad_state_input(std::string message) {
  return make_error(ErrorCode::invalid_argument, std::move(message));
}

inline std::string shown_key(std::string_view key) {
  return "'" + std::string(key.substr(0, 64)) + (key.size() > 64 ? "...'" : "'");
}

inline Status check_state_key(std::string_view key) {
  if (!key.empty() && key.size() <= HARENA_STATE_MAX_KEY_BYTES) return ok_status();
  return bad_state_input("key " + shown_key(key) + " has " + std::to_string(key.size()) + " bytes; 1 to " +
                         std::to_string(HARENA_STATE_MAX_KEY_BYTES) + " are right");
}

inline Status check_state_limit(std::int64_t limit) {
  if (limit >= 1 && limit <= HARENA_STATE_MAX_RANGE) return ok_status();
  return bad_state_input("limit " + std::to_string(limit) + " is out of range; 1 to " +
                         std::to_string(HARENA_STATE_MAX_RANGE) + " are right");
}

inline Result<StateOp> parse_state_op(const harena_state_op* raw) {
  if (raw == nullptr || raw->struct_size < sizeof(harena_state_op)) {
    return bad_state_input("an operation of the transaction is null or too short");
  }
  if (raw->kind > HARENA_STATE_DELETE) {
    return bad_state_input("operation kind " + std::to_string(raw->kind) + "; 0 (check), 1 (put), 2 (delete) are right");
  }
  StateOp op{static_cast<StateOp::Kind>(raw->kind), to_view(raw->key), to_view(raw->value), raw->revision};
  HARENA_TRY_STATUS(check_state_key(op.key));
  if (op.value.size() > HARENA_STATE_MAX_VALUE_BYTES) {
    return bad_state_input("the value of key " + shown_key(op.key) + " has " + std::to_string(op.value.size()) +
                           " bytes; at most " + std::to_string(HARENA_STATE_MAX_VALUE_BYTES) + " are right");
  }
  if (op.kind == StateOp::Kind::check && op.revision < 0) {
    return bad_state_input("revision " + std::to_string(op.revision) + " of the check on key " + shown_key(op.key) +
                           " is negative; 0 means absent");
  }
  return op;
}

inline Result<std::vector<StateOp>> parse_state_ops(const harena_state_op* const* raw, std::uint64_t count) {
  if (count == 0 || count > HARENA_STATE_MAX_TXN_OPS || raw == nullptr) {
    return bad_state_input("the transaction has " + std::to_string(count) + " operations; 1 to " +
                           std::to_string(HARENA_STATE_MAX_TXN_OPS) + " are right");
  }
  std::vector<StateOp> ops;
  std::set<std::string_view> changed;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    HARENA_TRY(StateOp op, parse_state_op(raw[i]));
    if (op.kind != StateOp::Kind::check && !changed.insert(op.key).second) {
      return bad_state_input("key " + shown_key(op.key) + " is changed twice in one transaction; once is right");
    }
    bytes += op.key.size() + op.value.size();
    ops.push_back(op);
  }
  if (bytes > HARENA_STATE_MAX_TXN_BYTES) {
    return bad_state_input("the transaction has " + std::to_string(bytes) + " bytes of keys and values; at most " +
                           std::to_string(HARENA_STATE_MAX_TXN_BYTES) + " are right");
  }
  return ops;
}

inline Result<json> revision_document(Result<std::int64_t> revision) {
  if (!revision.ok()) return std::move(revision).error();
  return json{{"revision", *revision}};
}

template <class Instance>
struct StateStoreThunks {
  static StateStorePlugin& of(void* self) { return *static_cast<Instance*>(self)->state_store; }

  static harena_status get(void* self, const harena_call* raw, harena_str key) {
    return guarded(raw, [&](const Call& call) -> Result<json> {
      HARENA_TRY_STATUS(check_state_key(to_view(key)));
      return revision_document(of(self).get(call, to_view(key)));
    });
  }
  static harena_status range(void* self, const harena_call* raw, harena_str start, harena_str end,
                             std::int64_t limit) {
    return guarded(raw, [&](const Call& call) -> Result<json> {
      HARENA_TRY_STATUS(check_state_limit(limit));
      return revision_document(of(self).range(call, to_view(start), to_view(end), limit));
    });
  }
  static harena_status txn(void* self, const harena_call* raw, const harena_state_op* const* raw_ops,
                           std::uint64_t count) {
    return guarded(raw, [&](const Call& call) -> Result<json> {
      HARENA_TRY(auto ops, parse_state_ops(raw_ops, count));
      return revision_document(of(self).txn(call, ops));
    });
  }
  static harena_status watch(void* self, const harena_call* raw, harena_str prefix, std::int64_t after) {
    return guarded(raw, [&](const Call& call) -> Status {
      if (after < 0) return bad_state_input("revision " + std::to_string(after) + " is negative; 0 watches from the start");
      return of(self).watch(call, to_view(prefix), after);
    });
  }
};

template <class Instance>
harena_state_store make_state_store_table() {
  using Thunks = StateStoreThunks<Instance>;
  harena_state_store table{};
  table.struct_size = sizeof(table);
  table.get = &Thunks::get;
  table.range = &Thunks::range;
  table.txn = &Thunks::txn;
  table.watch = &Thunks::watch;
  return table;
}

}  // namespace detail
}  // namespace harena::plugin
