#include "plugins/e2b/control/template_calls.hpp"

#include "plugins/e2b/control/sandbox_store.hpp"
#include "plugins/e2b/control/snapshot_calls.hpp"
#include "sdk/base/rfc3339.hpp"
#include "sdk/base/text.hpp"
#include "sdk/digest/sha256.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

/// Templates are as old as the configuration, of which nobody knows.
constexpr std::int64_t kEpoch = 0;

json template_json(const Template& one) {
  json names = json::array({one.id});
  for (const auto& alias : one.aliases) names.push_back(alias);
  return {{"templateID", one.id},
          {"buildID", uuid_of(one.id)},
          {"cpuCount", std::max(1, static_cast<int>(one.cpu + 0.999))},
          {"memoryMB", one.memory_mb > 0 ? one.memory_mb : 1024},
          {"diskSizeMB", one.disk_mb},
          {"public", false},
          {"aliases", names},
          {"names", names},
          {"createdAt", rfc3339(kEpoch)},
          {"updatedAt", rfc3339(kEpoch)},
          {"createdBy", nullptr},
          {"lastSpawnedAt", nullptr},
          {"spawnCount", 0},
          {"buildCount", 1},
          {"envdVersion", kEnvdVersion},
          {"buildStatus", "ready"}};
}

/// A path's `{name}` as it was meant: split on the raw path, decoded once.
const Template* named(const ControlCall& call, const char* param) {
  return call.services.settings.find_template(call.param(param));
}

Answer no_such_template(const std::string& name) { return refusal(404, "template '" + name.substr(0, 128) + "' not found"); }

/// Whoever has no valid key learns nothing, not even of what is in the configuration.
Task<Status> check_key(ControlCall& call) {
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY_STATUS(co_await store.project());
  co_return ok_status();
}

AnswerTask refuse(ControlCall& call, int status, std::string sentence) {
  HARENA_CO_TRY_STATUS(co_await check_key(call));
  co_return refusal(status, std::move(sentence));
}

}  // namespace

std::string uuid_of(std::string_view text) {
  auto hex = sha256_hex(text).substr(0, 32);
  hex[12] = '8';  // RFC 9562: version 8, made by our own rule
  hex[16] = 'a';
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" + hex.substr(16, 4) + "-" + hex.substr(20);
}

AnswerTask list_templates(ControlCall& call) {
  HARENA_CO_TRY_STATUS(co_await check_key(call));
  Answer answer{200, json::array()};
  for (const auto& one : call.services.settings.templates) {
    answer.body.push_back(template_json(one));
  }
  co_return answer;
}

AnswerTask template_info(ControlCall& call) {
  HARENA_CO_TRY_STATUS(co_await check_key(call));
  const Template* one = named(call, "id");
  if (one == nullptr) co_return no_such_template(call.param("id"));
  json body = template_json(*one);
  body["builds"] = json::array();
  co_return Answer{200, std::move(body)};
}

AnswerTask template_alias(ControlCall& call) {
  HARENA_CO_TRY_STATUS(co_await check_key(call));
  const Template* one = named(call, "alias");
  if (one == nullptr) co_return no_such_template(call.param("alias"));
  json body = {{"templateID", one->id}, {"public", false}};
  co_return Answer{200, std::move(body)};
}

AnswerTask template_tags(ControlCall& call) {
  HARENA_CO_TRY_STATUS(co_await check_key(call));
  const Template* one = named(call, "id");
  if (one == nullptr) co_return no_such_template(call.param("id"));
  json tag = {{"tag", "default"}, {"buildID", uuid_of(one->id)}, {"createdAt", rfc3339(kEpoch)}};
  Answer answer{200, json::array()};
  answer.body.push_back(std::move(tag));
  co_return answer;
}

AnswerTask delete_template(ControlCall& call) {
  HARENA_CO_TRY_STATUS(co_await check_key(call));
  const auto name = call.param("id");
  if (named(call, "id") == nullptr) {
    HARENA_CO_TRY(const bool deleted, co_await delete_snapshot(call, name));  // a snapshot's id is a template's
    co_return deleted ? Answer{204, nullptr} : no_such_template(name);
  }
  co_return refusal(403, "template '" + name + "' is part of the configuration of this installation; it is removed there (docs/e2b.md)");
}

AnswerTask refuse_template_build(ControlCall& call) {
  return refuse(call, 400, "templates can't be built or changed here: the image builder isn't there yet; templates are images named "
                           "in the configuration of the plugin e2b (docs/e2b.md)");
}

AnswerTask list_teams(ControlCall& call) {
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto project, co_await store.project());
  json team = {{"teamID", uuid_of(project)}, {"name", project}, {"apiKey", call.key}, {"isDefault", true}};
  Answer answer{200, json::array()};
  answer.body.push_back(std::move(team));
  co_return answer;
}

AnswerTask empty_list(ControlCall& call) {
  HARENA_CO_TRY_STATUS(co_await check_key(call));
  co_return Answer{200, json::array()};
}

AnswerTask refuse_volumes(ControlCall& call) {
  return refuse(call, 400, "volumes can't be made here: there are none yet (docs/e2b.md)");
}
AnswerTask refuse_secrets(ControlCall& call) {
  return refuse(call, 400, "secrets can't be kept here: there is no store for them yet (docs/e2b.md)");
}
AnswerTask no_such_volume(ControlCall& call) {
  return refuse(call, 404, "volume '" + call.param("id").substr(0, 128) + "' not found");
}
AnswerTask no_such_secret(ControlCall& call) {
  return refuse(call, 404, "secret '" + call.param("id").substr(0, 128) + "' not found");
}

}  // namespace harena::e2b
