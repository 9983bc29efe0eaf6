#include "core/model/snapshot.hpp"

#include <algorithm>
#include <array>

namespace harena {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 3> kStates = {"creating", "ready", "deleting"};

Snapshot snapshot_from(const json& value, SandboxId id, CreateSpec spec) {
  Snapshot snapshot{.id = std::move(id), .name = value.at("name").get<std::string>(), .spec = std::move(spec)};
  const auto state = std::find(kStates.begin(), kStates.end(), value.at("state").get<std::string>());
  if (state == kStates.end()) throw std::invalid_argument("its state is " + value.at("state").dump());
  snapshot.state = static_cast<SnapshotState>(state - kStates.begin());
  value.at("sandbox_id").get_to(snapshot.sandbox_id);
  value.at("promised").at("cpu_milli").get_to(snapshot.promised.cpu_milli);
  value.at("promised").at("memory_bytes").get_to(snapshot.promised.memory_bytes);
  value.at("created_by").get_to(snapshot.created_by);
  value.at("created_ms").get_to(snapshot.created_ms);
  value.at("idempotency_key").get_to(snapshot.idempotency_key);
  value.at("kept").get_to(snapshot.kept);
  value.at("backend_state").get_to(snapshot.backend_state);
  snapshot.details = value.at("details");
  value.at("layer_digests").get_to(snapshot.layer_digests);
  snapshot.image_config = value.at("image_config");
  return snapshot;
}

}  // namespace

std::string_view to_string(SnapshotState state) { return kStates[static_cast<std::size_t>(state)]; }

json to_public_json(const Snapshot& snapshot) {
  return {{"id", snapshot.id.str()},         {"name", snapshot.name},
          {"project", snapshot.spec.project.str()}, {"backend", snapshot.spec.backend},
          {"state", to_string(snapshot.state)},     {"sandbox_id", snapshot.sandbox_id},
          {"image", snapshot.spec.image},           {"created_by", snapshot.created_by},
          {"created_ms", snapshot.created_ms},      {"kept", snapshot.kept},
          {"details", snapshot.details}};
}

json to_stored_json(const Snapshot& snapshot) {
  return {{"schema", 1},
          {"id", snapshot.id.str()},
          {"name", snapshot.name},
          {"state", to_string(snapshot.state)},
          {"sandbox_id", snapshot.sandbox_id},
          {"backend", snapshot.spec.backend},
          {"spec", to_json(snapshot.spec)},
          {"promised", {{"cpu_milli", snapshot.promised.cpu_milli}, {"memory_bytes", snapshot.promised.memory_bytes}}},
          {"created_by", snapshot.created_by},
          {"created_ms", snapshot.created_ms},
          {"idempotency_key", snapshot.idempotency_key},
          {"kept", snapshot.kept},
          {"backend_state", snapshot.backend_state},
          {"details", snapshot.details},
          {"layer_digests", snapshot.layer_digests},
          {"image_config", snapshot.image_config}};
}

Result<Snapshot> snapshot_from_stored_json(const json& value) {
  try {
    if (value.at("schema").get<int>() != 1) {
      return make_error(ErrorCode::data_loss, "a stored snapshot has schema " + value.at("schema").dump() + "; this release reads 1");
    }
    HARENA_TRY(auto id, SandboxId::parse(value.at("id").get<std::string>()));
    HARENA_TRY(auto spec, parse_stored_spec(value.at("backend").get<std::string>(), value.at("spec")));
    return snapshot_from(value, std::move(id), std::move(spec));
  } catch (const std::exception& problem) {
    return make_error(ErrorCode::data_loss, std::string("a stored snapshot can't be read: ") + problem.what());
  }
}

bool matches(const SnapshotFilter& filter, const Snapshot& snapshot) {
  if (filter.project && !filter.project->contains(snapshot.spec.project)) return false;
  if (!filter.name.empty() && filter.name != snapshot.name) return false;
  return filter.sandbox_id.empty() || filter.sandbox_id == snapshot.sandbox_id;
}

}  // namespace harena
