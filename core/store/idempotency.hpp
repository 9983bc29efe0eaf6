#pragma once
// The record of an idempotency key: which request made which sandbox.

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/contracts/state_store.hpp"
#include "core/model/sandbox.hpp"

namespace harena {

struct IdempotencyRecord {
  std::string request_hash;
  SandboxId sandbox_id;
  /// The sandbox in its terminal state, once its own record is purged or removed.
  std::optional<Sandbox> remembered;
};

nlohmann::json to_json(const IdempotencyRecord& record);
/// data_loss naming the key.
Result<IdempotencyRecord> idempotency_from_entry(const StateEntry& entry);

}  // namespace harena
