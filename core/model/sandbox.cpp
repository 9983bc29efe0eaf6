#include "core/model/sandbox.hpp"

#include <algorithm>

#include "sdk/base/text.hpp"

namespace harena {

using nlohmann::json;

namespace {

json resources_json(const Resources& resources) {
  return {{"cpu_milli", resources.cpu_milli}, {"memory_bytes", resources.memory_bytes}};
}

Resources resources_from(const json& value) {
  return {value.at("cpu_milli").get<std::int64_t>(), value.at("memory_bytes").get<std::int64_t>()};
}

std::int64_t memory_of(const json& params) {
  for (const auto* name : {"memory_bytes", "memory"}) {
    const auto it = params.find(name);
    if (it == params.end()) continue;
    if (it->is_number_integer()) return std::max<std::int64_t>(0, it->get<std::int64_t>());
    if (it->is_string()) return parse_size(it->get<std::string>()).value_or(0);
  }
  return 0;
}

json ending_json(const Ending& ending) {
  return {{"cause", to_string(ending.cause)}, {"detail", ending.detail}, {"message", ending.message}};
}

Ending ending_from(const json& value) {
  Ending ending;
  ending.cause = cause_from_string(value.at("cause").get<std::string>()).value_or(Cause::none);
  ending.detail = value.at("detail").get<std::string>();
  ending.message = value.at("message").get<std::string>();
  return ending;
}

Sandbox sandbox_from(const json& value, SandboxId id, CreateSpec spec) {
  Sandbox sandbox{.id = std::move(id), .spec = std::move(spec)};
  sandbox.state = sandbox_state_from_string(value.at("state").get<std::string>()).value();
  sandbox.created_by = value.at("created_by").get<std::string>();
  sandbox.created_ms = value.at("created_ms").get<std::int64_t>();
  sandbox.changed_ms = value.at("changed_ms").get<std::int64_t>();
  sandbox.expires_ms = value.at("expires_ms").get<std::int64_t>();
  sandbox.ending = ending_from(value.at("ending"));
  sandbox.promised = resources_from(value.at("promised"));
  sandbox.backend_state = value.at("backend_state").get<std::string>();
  sandbox.session_endpoint = value.at("session_endpoint").get<std::string>();
  sandbox.details = value.at("details");
  sandbox.layer_digests = value.at("layer_digests").get<std::vector<std::string>>();
  sandbox.image_config = value.value("image_config", json::object());
  if (value.contains("resizing")) {
    sandbox.resizing = {value["resizing"].at("params"), resources_from(value["resizing"].at("promised"))};
  }
  return sandbox;
}

}  // namespace

Resources resources_of(const json& params) {
  Resources resources{.memory_bytes = memory_of(params)};
  const auto cpu = params.find("cpu");
  if (cpu != params.end() && cpu->is_number()) {
    resources.cpu_milli = static_cast<std::int64_t>(std::clamp(cpu->get<double>(), 0.0, 1e9) * 1000);
  }
  return resources;
}

std::int64_t fresh_end(const Sandbox& sandbox, std::int64_t now_ms) {
  const bool paused = sandbox.state == SandboxState::paused || sandbox.state == SandboxState::resuming;
  if (sandbox.spec.lifetime_s == 0 || (paused && sandbox.spec.lifetime_restarts)) return 0;
  return now_ms + sandbox.spec.lifetime_s * 1000;
}

std::int64_t end_after(const Sandbox& sandbox, SandboxState before, std::int64_t now_ms) {
  if (!sandbox.spec.lifetime_restarts) return sandbox.expires_ms;
  if (sandbox.state == SandboxState::paused) return 0;
  const bool resumed = sandbox.state == SandboxState::running && before != SandboxState::running;
  return resumed && sandbox.expires_ms == 0 ? fresh_end(sandbox, now_ms) : sandbox.expires_ms;
}

json to_public_json(const Sandbox& sandbox) {
  json out = to_json(sandbox.spec);
  out.erase("idempotency_key");
  out.erase("fork_count");
  out["id"] = sandbox.id.str();
  out["backend"] = sandbox.spec.backend;
  out["state"] = to_string(sandbox.state);
  out["created_by"] = sandbox.created_by;
  out["created_ms"] = sandbox.created_ms;
  out["changed_ms"] = sandbox.changed_ms;
  out["expires_ms"] = sandbox.expires_ms;
  out["details"] = sandbox.details;
  if (is_terminal(sandbox.state)) out["ending"] = ending_json(sandbox.ending);
  return out;
}

json to_stored_json(const Sandbox& sandbox) {
  json stored = {{"schema", 1},
          {"id", sandbox.id.str()},
          {"backend", sandbox.spec.backend},
          {"spec", to_json(sandbox.spec)},
          {"state", to_string(sandbox.state)},
          {"created_by", sandbox.created_by},
          {"created_ms", sandbox.created_ms},
          {"changed_ms", sandbox.changed_ms},
          {"expires_ms", sandbox.expires_ms},
          {"ending", ending_json(sandbox.ending)},
          {"promised", resources_json(sandbox.promised)},
          {"backend_state", sandbox.backend_state},
          {"session_endpoint", sandbox.session_endpoint},
          {"details", sandbox.details},
          {"layer_digests", sandbox.layer_digests},
          {"image_config", sandbox.image_config}};
  if (sandbox.resizing) {
    stored["resizing"] = {{"params", sandbox.resizing->params}, {"promised", resources_json(sandbox.resizing->promised)}};
  }
  return stored;
}

Result<Sandbox> sandbox_from_stored_json(const json& value) {
  try {
    if (value.at("schema").get<int>() != 1) {
      return make_error(ErrorCode::data_loss, "a stored sandbox has schema " + value.at("schema").dump() +
                                                  "; this release reads 1");
    }
    HARENA_TRY(auto id, SandboxId::parse(value.at("id").get<std::string>()));
    HARENA_TRY(auto spec, parse_stored_spec(value.at("backend").get<std::string>(), value.at("spec")));
    return sandbox_from(value, std::move(id), std::move(spec));
  } catch (const std::exception& problem) {
    return make_error(ErrorCode::data_loss, std::string("a stored sandbox can't be read: ") + problem.what());
  }
}

bool matches(const SandboxFilter& filter, const Sandbox& sandbox) {
  const auto& spec = sandbox.spec;
  if (filter.project && !filter.project->contains(spec.project)) return false;
  if (!filter.task.empty() && filter.task != spec.task) return false;
  if (!filter.backend.empty() && filter.backend != spec.backend) return false;
  if (!filter.states.empty() &&
      std::find(filter.states.begin(), filter.states.end(), sandbox.state) == filter.states.end()) {
    return false;
  }
  return std::all_of(filter.labels.begin(), filter.labels.end(), [&](const auto& wanted) {
    const auto it = spec.labels.find(wanted.first);
    return it != spec.labels.end() && it->second == wanted.second;
  });
}

}  // namespace harena
