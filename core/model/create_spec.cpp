#include <algorithm>

#include "core/model/json_fields.hpp"
#include "core/model/sandbox.hpp"
#include "sdk/base/text.hpp"

namespace harena {

using nlohmann::json;

namespace {

Result<bool> parse_when_paused(const std::string& text, IdleAction action) {
  if (text.empty()) return action == IdleAction::pause;
  if (text == "restarts") return true;
  if (text != "counts") {
    return make_error(ErrorCode::invalid_argument,
                      "lifetime_when_paused is '" + text + "'; it must be counts or restarts");
  }
  if (action != IdleAction::pause) return false;
  return make_error(ErrorCode::invalid_argument,
                    "lifetime_when_paused is counts, but with lifetime_action pause a pause ends the lifetime; "
                    "it must be restarts");
}

bool is_label_key_char(char c) { return c > 0x20 && c < 0x7f && c != '=' && c != ','; }

Status check_idempotency_key(const std::string& key) {
  const bool printable = std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (key.size() <= kMaxIdempotencyKey && printable) return ok_status();
  return make_error(ErrorCode::invalid_argument,
                    "an idempotency key has 1 to 128 printable ASCII characters without spaces");
}

}  // namespace

Result<IdleAction> idle_action_from(const std::string& text, const std::string& what) {
  if (text == "stop") return IdleAction::stop;
  if (text == "pause") return IdleAction::pause;
  return make_error(ErrorCode::invalid_argument, what + " is '" + text + "'; it must be stop or pause");
}

std::string_view to_string(IdleAction action) { return action == IdleAction::pause ? "pause" : "stop"; }

namespace {

Status check_keys(const Labels& labels, const std::string& what) {
  if (labels.size() > kMaxLabels) {
    return make_error(ErrorCode::invalid_argument, "at most 64 " + what + "s; these are " + std::to_string(labels.size()));
  }
  for (const auto& [key, value] : labels) {
    if (key.empty() || key.size() > kMaxLabelKey || !std::all_of(key.begin(), key.end(), is_label_key_char)) {
      return make_error(ErrorCode::invalid_argument,
                        what + " '" + key.substr(0, 80) +
                            "': a key has 1 to 128 printable ASCII characters without space, '=' and ','");
    }
  }
  return ok_status();
}

}  // namespace

Status check_annotations(const Labels& annotations) {
  HARENA_TRY_STATUS(check_keys(annotations, "annotation"));
  std::size_t bytes = 0;
  for (const auto& [key, value] : annotations) {
    bytes += key.size() + value.size();
    if (!is_utf8(value)) return make_error(ErrorCode::invalid_argument, "annotation '" + key + "': a value is UTF-8");
  }
  if (bytes <= kMaxAnnotationBytes) return ok_status();
  return make_error(ErrorCode::invalid_argument, "the annotations have " + std::to_string(bytes) +
                                                     " bytes; at most " + std::to_string(kMaxAnnotationBytes) + " are right");
}

Status check_labels(const Labels& labels) {
  HARENA_TRY_STATUS(check_keys(labels, "label"));
  for (const auto& [key, value] : labels) {
    if (value.size() > kMaxLabelValue || !is_utf8(value)) {
      return make_error(ErrorCode::invalid_argument, "label '" + key + "': a value is UTF-8 of at most 256 bytes");
    }
  }
  return ok_status();
}

namespace {

Status parse_lineage(JsonFields& fields, CreateSpec& spec) {
  HARENA_TRY(spec.forked_from, fields.string("forked_from", ""));
  HARENA_TRY(spec.fork_count, fields.integer("fork_count", 0, 0, INT64_MAX));
  return ok_status();
}

Status check_origin(const CreateSpec& spec) {
  if (spec.snapshot.empty()) return ok_status();
  if (spec.image.empty() && spec.workspaces.empty() && spec.toolkits.empty()) return ok_status();
  return make_error(ErrorCode::invalid_argument,
                    "the create request has a snapshot ('" + spec.snapshot.substr(0, 80) +
                        "') beside an image, workspaces or toolkits; a snapshot has those of the sandbox that it was taken of");
}

Result<CreateSpec> parse_spec(const std::string& backend, const json& body, bool stored) {
  JsonFields fields(body, "the create request");
  CreateSpec spec;
  spec.backend = backend;
  HARENA_TRY(const auto project, fields.string("project", std::string(kRootProject)));
  HARENA_TRY(spec.task, fields.string("task", ""));
  HARENA_TRY(spec.image, fields.string("image", ""));
  HARENA_TRY(spec.workspaces, fields.strings("workspaces"));
  HARENA_TRY(spec.toolkits, fields.strings("toolkits"));
  HARENA_TRY(spec.labels, fields.string_map("labels"));
  HARENA_TRY(spec.idle_ttl_s, fields.integer("idle_ttl_s", kDefaultIdleTtlSeconds, 0, kMaxTtlSeconds));
  HARENA_TRY(spec.lifetime_s, fields.integer("lifetime_s", 0, 0, kMaxTtlSeconds));
  HARENA_TRY(const auto action, fields.string("idle_action", "stop"));
  HARENA_TRY(const auto lifetime_action, fields.string("lifetime_action", "stop"));
  HARENA_TRY(const auto when_paused, fields.string("lifetime_when_paused", ""));
  HARENA_TRY(spec.resume_on_use, fields.boolean("resume_on_use", true));
  HARENA_TRY(spec.annotations, fields.string_map("annotations"));
  HARENA_TRY(spec.params, fields.object("params"));
  HARENA_TRY(spec.idempotency_key, fields.string("idempotency_key", ""));
  HARENA_TRY(spec.snapshot, fields.string("snapshot", ""));
  if (stored) HARENA_TRY_STATUS(parse_lineage(fields, spec));
  HARENA_TRY_STATUS(fields.finish());
  HARENA_TRY(spec.project, ProjectPath::parse(project));
  if (!spec.task.empty()) HARENA_TRY_STATUS(check_name(spec.task, "task"));
  HARENA_TRY(spec.idle_action, idle_action_from(action, "idle_action"));
  HARENA_TRY(spec.lifetime_action, idle_action_from(lifetime_action, "lifetime_action"));
  HARENA_TRY(spec.lifetime_restarts, parse_when_paused(when_paused, spec.lifetime_action));
  HARENA_TRY_STATUS(check_labels(spec.labels));
  if (stored) return spec;
  HARENA_TRY_STATUS(check_annotations(spec.annotations));
  HARENA_TRY_STATUS(check_idempotency_key(spec.idempotency_key));
  HARENA_TRY_STATUS(check_origin(spec));
  return spec;
}

}  // namespace

Result<CreateSpec> parse_create_spec(const std::string& backend, const json& body) { return parse_spec(backend, body, false); }
Result<CreateSpec> parse_stored_spec(const std::string& backend, const json& body) { return parse_spec(backend, body, true); }

json to_json(const CreateSpec& spec) {
  json out = {{"project", spec.project.str()},
          {"task", spec.task},
          {"image", spec.image},
          {"workspaces", spec.workspaces},
          {"toolkits", spec.toolkits},
          {"labels", spec.labels},
          {"idle_ttl_s", spec.idle_ttl_s},
          {"lifetime_s", spec.lifetime_s},
          {"idle_action", to_string(spec.idle_action)},
          {"lifetime_action", to_string(spec.lifetime_action)},
          {"lifetime_when_paused", spec.lifetime_restarts ? "restarts" : "counts"},
          {"resume_on_use", spec.resume_on_use},
          {"annotations", spec.annotations},
          {"params", spec.params},
          {"idempotency_key", spec.idempotency_key}};
  // Only where they mean something: the hash of a request stays what it was in earlier releases.
  if (!spec.snapshot.empty()) out["snapshot"] = spec.snapshot;
  if (!spec.forked_from.empty()) out.update({{"forked_from", spec.forked_from}, {"fork_count", spec.fork_count}});
  return out;
}

json merge_params(json before, const json& given) {
  constexpr std::string_view kBytes = "_bytes";
  for (const auto& [name, value] : given.items()) {
    before.erase(name + std::string(kBytes));
    if (name.ends_with(kBytes)) before.erase(name.substr(0, name.size() - kBytes.size()));
    before[name] = value;
  }
  return before;
}

}  // namespace harena
