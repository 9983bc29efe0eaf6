#include "plugins/e2b/control/create_request.hpp"

#include "plugins/e2b/control/network_options.hpp"

namespace harena::e2b {

using nlohmann::json;

namespace {

constexpr std::int64_t kDefaultTimeoutV2 = 300;
constexpr std::int64_t kDefaultTimeoutLegacy = 15;

Error bad_request(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

Status parse_lifecycle(Fields& fields, Counters& counters, CreateRequest& out) {
  HARENA_TRY(const auto auto_pause, fields.boolean("autoPause"));
  HARENA_TRY(const auto keeps_memory, fields.boolean("autoPauseMemory"));
  HARENA_TRY(const auto auto_resume, fields.object("autoResume"));
  out.auto_pause = auto_pause.value_or(false);
  if (!auto_resume.is_null()) {
    Fields inner(auto_resume, counters, "create", "autoResume.");
    HARENA_TRY(const auto enabled, inner.boolean("enabled"));
    inner.done();
    if (!enabled) return bad_request("autoResume.enabled is missing; it must be true or false");
    out.auto_resume = *enabled;
  }
  if (out.auto_resume && !out.auto_pause) return bad_request("autoResume.enabled is true without autoPause; a sandbox that is killed can't be resumed");
  if (!keeps_memory.value_or(true)) {
    return bad_request("autoPauseMemory: false can't be honoured here: a pause keeps memory and processes (docs/e2b.md)");
  }
  return ok_status();
}

Status refuse_what_is_not_there(Fields& fields) {
  HARENA_TRY(const auto mounts, fields.array("volumeMounts"));
  if (!mounts.empty()) return bad_request("volumeMounts can't be honoured here: there are no volumes yet (docs/e2b.md)");
  HARENA_TRY(const auto iam, fields.object("iam"));
  if (!iam.empty()) return bad_request("iam can't be honoured here: sandboxes get no workload identity tokens (docs/e2b.md)");
  return ok_status();
}

}  // namespace

Status check_timeout(std::int64_t seconds, const Settings& settings) {
  if (seconds < 1) return bad_request("timeout is " + std::to_string(seconds) + "; it must be at least 1 second");
  if (seconds <= settings.max_timeout_s) return ok_status();
  return bad_request("timeout is " + std::to_string(seconds) + " seconds; at most " + std::to_string(settings.max_timeout_s) +
             " are allowed here");
}

Result<std::int64_t> read_timeout(Fields& fields, std::optional<std::int64_t> otherwise, const Settings& settings) {
  HARENA_TRY(const auto given, fields.integer("timeout"));
  if (!given && !otherwise) return bad_request("timeout is missing; a whole number of seconds is right");
  const auto seconds = given ? *given : *otherwise;
  HARENA_TRY_STATUS(check_timeout(seconds, settings));
  return seconds;
}

Result<CreateRequest> parse_create(const json& body, CreateForm form, const Settings& settings, Counters& counters) {
  Fields fields(body, counters, "create");
  CreateRequest out;
  HARENA_TRY(const auto name, fields.text("templateID"));
  if (!name || name->empty()) return bad_request("templateID is missing; the name of a template, such as base, is right");
  out.template_name = *name;
  HARENA_TRY(out.timeout_s, read_timeout(fields, form == CreateForm::v2 ? kDefaultTimeoutV2 : kDefaultTimeoutLegacy, settings));
  HARENA_TRY(auto metadata, fields.text_map("metadata"));
  HARENA_TRY(auto env, fields.text_map("envVars"));
  if (metadata) out.extras.metadata = *std::move(metadata);
  if (env) out.env = *std::move(env);
  HARENA_TRY_STATUS(parse_lifecycle(fields, counters, out));
  HARENA_TRY(const auto network, fields.object("network"));
  HARENA_TRY_STATUS(parse_network(fields, network, counters, out.extras));
  HARENA_TRY_STATUS(refuse_what_is_not_there(fields));
  HARENA_TRY_STATUS(fields.boolean("secure"));  // every sandbox is: false asks for less than it gets
  HARENA_TRY(const auto mcp, fields.object("mcp"));
  out.wants_mcp_gateway = !mcp.is_null();
  fields.done();
  return out;
}

json lifetime_fields(std::int64_t timeout_s, bool auto_pause, bool auto_resume) {
  return {{"lifetime_s", timeout_s},
          {"lifetime_action", auto_pause ? "pause" : "stop"},
          {"resume_on_use", auto_resume}};
}

std::string annotation_of(const Extras& extras) {
  return to_json(extras).dump(-1, ' ', false, json::error_handler_t::replace);
}

Extras extras_over(const Extras& source, const CreateRequest& request, const std::string& snapshot_id) {
  Extras extras = request.extras;
  extras.template_id = snapshot_id;
  extras.origin = source.origin.empty() ? source.template_id : source.origin;
  const auto plain = plain_template_name(request.template_name);
  if (plain != snapshot_id) extras.alias = plain;
  extras.user = source.user.empty() ? Template().user : source.user;
  extras.workdir = source.workdir;
  if (request.env.empty()) extras.env = source.env;
  return extras;
}

json core_create_body(const CreateRequest& request, const std::string& snapshot_id, const std::string& project) {
  json body = lifetime_fields(request.timeout_s, request.auto_pause, request.auto_resume);
  body.update({{"project", project},
               {"snapshot", snapshot_id},
               {"idle_ttl_s", 0},
               {"lifetime_when_paused", "restarts"},
               {"labels", {{"frontend", kPluginId}, {kTemplateLabel, snapshot_id}}}});
  if (request.env.empty()) return body;
  json env = {{"E2B_SANDBOX", "true"}, {"E2B_TEMPLATE_ID", snapshot_id}};
  for (const auto& [name, value] : request.env) env[name] = value;
  body["params"] = {{"env", std::move(env)}};
  return body;
}

json core_create_body(const CreateRequest& request, const Template& from, const std::string& project) {
  Extras extras = request.extras;
  extras.template_id = from.id;
  const auto plain = plain_template_name(request.template_name);
  if (plain != from.id) extras.alias = plain;
  extras.user = from.user;
  extras.workdir = from.workdir;
  json params = from.params;
  if (from.cpu > 0) params["cpu"] = from.cpu;
  if (from.memory_mb > 0) params["memory"] = std::to_string(from.memory_mb) + "MiB";
  if (from.disk_mb > 0) params["disk"] = std::to_string(from.disk_mb) + "MiB";
  json env = params.value("env", json::object());
  env.update({{"E2B_SANDBOX", "true"}, {"E2B_TEMPLATE_ID", from.id}});
  for (const auto& [name, value] : request.env) env[name] = value;
  params["env"] = std::move(env);
  json body = lifetime_fields(request.timeout_s, request.auto_pause, request.auto_resume);
  body.update({{"project", project},
               {"image", from.image},
               {"workspaces", from.workspaces},
               {"toolkits", from.toolkits},
               {"idle_ttl_s", 0},
               {"lifetime_when_paused", "restarts"},
               {"labels", {{"frontend", kPluginId}, {kTemplateLabel, from.id}}},
               {"annotations", {{kAnnotation, annotation_of(extras)}}},
               {"params", std::move(params)}});
  return body;
}

}  // namespace harena::e2b
