#include "plugins/e2b/record.hpp"

#include <algorithm>
#include <cmath>

#include "sdk/base/rfc3339.hpp"
#include "sdk/base/text.hpp"

namespace harena::e2b {

using nlohmann::json;

namespace {

constexpr std::int64_t kMiB = 1024 * 1024;
/// What a container has that names no memory (plugins/container's schema says it in words).
constexpr std::int64_t kDefaultMemory = 1024 * kMiB;
/// `clientID` is required, deprecated and the same for all.
constexpr const char* kClientId = "harena";

std::int64_t size_of(const json& params, const char* name, const char* bytes_name) {
  if (const auto it = params.find(bytes_name); it != params.end() && it->is_number_integer()) return it->get<std::int64_t>();
  const auto it = params.find(name);
  if (it == params.end()) return 0;
  if (it->is_number_integer()) return it->get<std::int64_t>();
  return it->is_string() ? parse_size(it->get<std::string>()).value_or(0) : 0;
}

void read_params(const json& params, Record& out) {
  const auto cpu = params.find("cpu");
  if (cpu != params.end() && cpu->is_number()) out.cpu = cpu->get<double>();
  out.memory_bytes = size_of(params, "memory", "memory_bytes");
  if (out.memory_bytes == 0) out.memory_bytes = kDefaultMemory;
  out.disk_bytes = size_of(params, "disk", "disk_bytes");
  const auto env = params.find("env");
  if (env == params.end() || !env->is_object()) return;
  for (const auto& [name, value] : env->items()) {
    if (value.is_string()) out.env[name] = value.get<std::string>();
  }
}

json network_json(const Extras& extras) {
  json network = {{"allowPublicTraffic", extras.public_traffic}};
  if (!extras.deny_out.empty()) network["denyOut"] = extras.deny_out;
  if (!extras.mask_request_host.empty()) network["maskRequestHost"] = extras.mask_request_host;
  return network;
}

}  // namespace

json to_json(const Extras& extras) {
  json out = {{"template", extras.template_id}, {"metadata", extras.metadata}, {"public", extras.public_traffic},
              {"user", extras.user}};
  if (!extras.alias.empty()) out["alias"] = extras.alias;
  if (!extras.origin.empty()) out["origin"] = extras.origin;
  if (extras.allow_internet_access) out["internet"] = *extras.allow_internet_access;
  if (!extras.mask_request_host.empty()) out["mask_host"] = extras.mask_request_host;
  if (!extras.deny_out.empty()) out["deny_out"] = extras.deny_out;
  if (!extras.workdir.empty()) out["workdir"] = extras.workdir;
  if (!extras.env.empty()) out["env"] = extras.env;
  if (extras.started_ms != 0) out["started_ms"] = extras.started_ms;
  return out;
}

Result<Extras> extras_from(const json& document) {
  try {
    Extras extras;
    extras.template_id = document.at("template").get<std::string>();
    extras.metadata = document.at("metadata").get<std::map<std::string, std::string>>();
    extras.public_traffic = document.at("public").get<bool>();
    extras.user = document.at("user").get<std::string>();
    extras.alias = document.value("alias", "");
    extras.origin = document.value("origin", "");
    if (document.contains("internet")) extras.allow_internet_access = document.at("internet").get<bool>();
    extras.mask_request_host = document.value("mask_host", "");
    extras.deny_out = document.value("deny_out", std::vector<std::string>());
    extras.workdir = document.value("workdir", "");
    extras.env = document.value("env", std::map<std::string, std::string>());
    extras.started_ms = document.value("started_ms", std::int64_t{0});
    return extras;
  } catch (const json::exception& problem) {
    return make_error(ErrorCode::data_loss, std::string("the sandbox's annotation 'e2b' can't be read: ") + problem.what());
  }
}

bool Record::is_living() const {
  return state == "running" || state == "resuming" || state == "creating" || is_paused();
}

Error no_such_sandbox(const std::string& id) {
  return make_error(ErrorCode::not_found, "sandbox \"" + id.substr(0, 64) + "\" not found");
}

Result<Record> record_from(const json& sandbox) {
  Record record;
  try {
    record.id = sandbox.at("id").get<std::string>();
    const auto labels = sandbox.at("labels");
    if (labels.value("frontend", "") != kPluginId) return no_such_sandbox(record.id);
    const auto text = sandbox.at("annotations").value(kAnnotation, "");
    // None: it was made of a snapshot of a sandbox that isn't E2B's.
    record.extras.user = "user";
    if (!text.empty()) {
      HARENA_TRY(record.extras, extras_from(json::parse(text, nullptr, false)));
    }
    record.backend = sandbox.at("backend").get<std::string>();
    record.state = sandbox.at("state").get<std::string>();
    // A fork has its source's annotation, and begins later.
    record.started_ms = std::max(sandbox.at("created_ms").get<std::int64_t>(), record.extras.started_ms);
    record.changed_ms = sandbox.at("changed_ms").get<std::int64_t>();
    record.end_ms = sandbox.at("expires_ms").get<std::int64_t>();
    record.lifetime_s = sandbox.at("lifetime_s").get<std::int64_t>();
    record.pauses_at_end = sandbox.at("lifetime_action") == "pause";
    record.resumes_on_use = sandbox.at("resume_on_use").get<bool>();
    read_params(sandbox.at("params"), record);
    for (const auto& [name, value] : record.extras.env) record.env[name] = value;
  } catch (const json::exception& problem) {
    return make_error(ErrorCode::internal, std::string("the API's sandbox can't be read: ") + problem.what());
  }
  return record;
}

json sandbox_json(const Record& record, const Services& services) {
  json out = {{"sandboxID", record.id},
              {"templateID", record.extras.template_id},
              {"clientID", kClientId},
              {"envdVersion", kEnvdVersion},
              {"envdAccessToken", services.keys.envd_token(record.id)},
              {"trafficAccessToken", nullptr},
              {"domain", services.settings.domain}};
  if (!record.extras.alias.empty()) out["alias"] = record.extras.alias;
  if (!record.extras.public_traffic) out["trafficAccessToken"] = services.keys.traffic_token(record.id);
  return out;
}

json listed_json(const Record& record) {
  // A paused sandbox has no end: it ended for E2B's clock when it was paused.
  const auto end_ms = record.end_ms != 0 ? record.end_ms : record.changed_ms;
  json out = {{"sandboxID", record.id},
              {"templateID", record.extras.template_id},
              {"clientID", kClientId},
              {"envdVersion", kEnvdVersion},
              {"startedAt", rfc3339(record.started_ms)},
              {"endAt", rfc3339(end_ms)},
              {"cpuCount", std::max(1, static_cast<int>(std::ceil(record.cpu)))},
              {"memoryMB", record.memory_bytes / kMiB},
              {"diskSizeMB", record.disk_bytes / kMiB},
              {"metadata", record.extras.metadata},
              {"state", record.is_paused() ? "paused" : "running"}};
  if (!record.extras.alias.empty()) out["alias"] = record.extras.alias;
  return out;
}

json detail_json(const Record& record, const Services& services) {
  json out = listed_json(record);
  out["envdAccessToken"] = services.keys.envd_token(record.id);
  out["domain"] = services.settings.domain;
  out["network"] = network_json(record.extras);
  out["lifecycle"] = {{"autoResume", record.resumes_on_use}, {"onTimeout", record.pauses_at_end ? "pause" : "kill"}};
  if (record.extras.allow_internet_access) out["allowInternetAccess"] = *record.extras.allow_internet_access;
  return out;
}

}  // namespace harena::e2b
