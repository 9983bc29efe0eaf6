#pragma once
// Snapshot: a named state of a sandbox that others can be made of, and itself brought back to. Pure data with JSON forms.

#include <string>
#include <vector>

#include "core/model/sandbox.hpp"

namespace harena {

/// creating: a crash in the middle removes it. deleting: so does a start.
enum class SnapshotState { creating, ready, deleting };
std::string_view to_string(SnapshotState state);

struct Snapshot {
  SandboxId id;                ///< of the same kind as a sandbox's: it names the edge that holds it
  std::string name;            ///< one in its project
  SnapshotState state = SnapshotState::creating;
  std::string sandbox_id;      ///< it was taken of
  CreateSpec spec;             ///< of that sandbox: what is made of the snapshot has it where nothing else is asked for
  Resources promised;
  std::string created_by;      ///< principal
  std::int64_t created_ms = 0;
  std::string idempotency_key; ///< empty: none
  std::string kept;            ///< "memory" | "filesystem"
  std::string backend_state;   ///< opaque; never shown
  nlohmann::json details = nlohmann::json::object();  ///< what the backend tells of it
  std::vector<std::string> layer_digests;
  nlohmann::json image_config = nlohmann::json::object();
};

nlohmann::json to_public_json(const Snapshot& snapshot);
nlohmann::json to_stored_json(const Snapshot& snapshot);
/// data_loss for what to_stored_json can't have written.
Result<Snapshot> snapshot_from_stored_json(const nlohmann::json& json);

/// Which snapshots a list shows. Empty members don't filter.
struct SnapshotFilter {
  std::optional<ProjectPath> project;  ///< it and everything below it
  std::string name;
  std::string sandbox_id;
};
bool matches(const SnapshotFilter& filter, const Snapshot& snapshot);

}  // namespace harena
