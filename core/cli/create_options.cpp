#include "core/cli/create_options.hpp"

#include "core/cli/params.hpp"
#include "core/cli/words.hpp"
#include "sdk/base/text.hpp"
#include "sdk/client/sandboxes.hpp"

namespace harena::cli {

using nlohmann::json;

namespace {

Status put_duration(json& body, const char* key, const std::string& text, const char* option) {
  if (text.empty()) return {};
  HARENA_TRY(body[key], parse_duration_s(text, option));
  return {};
}

}  // namespace

Result<json> backend_schema(client::Client& client, const std::string& backend) {
  HARENA_TRY(const auto backends, client::Sandboxes(client).backends());
  std::vector<std::string> names;
  for (const auto& one : backends) {
    names.push_back(client::text_or(one, "name"));
    if (names.back() == backend) return one.value("params_schema", json::object());
  }
  return make_error(ErrorCode::not_found, "there is no backend '" + backend + "'" + suggestion(backend, names));
}

void CreateOptions::add_to(CLI::App& app) {
  app.add_option("--backend", backend, "What kind of sandbox; 'harena backends' lists them")->capture_default_str();
  add_repeated(app, "-p,--param", params, "key=value, a parameter of the backend; repeatable");
  limits.add_to(app);
  app.add_option("--snapshot", snapshot, "A snapshot's id or name, in place of an image");
  add_repeated(app, "--workspace", workspaces, "Image laid over the base; repeatable");
  add_repeated(app, "--toolkit", toolkits, "Image laid over the workspaces; repeatable");
  app.add_option("--project", project, "Project path (root)");
  app.add_option("--task", task, "Name of the task that it belongs to");
  add_repeated(app, "-l,--label", labels, "key=value; repeatable");
  app.add_option("--idle-ttl", idle_ttl, "Idle time until --idle-action: 300s, 10m; 0 never");
  app.add_option("--idle-action", idle_action, "stop or pause");
  app.add_option("--lifetime", lifetime, "Ends in any case after: 2h; 0 no end");
  app.add_option("--key", key, "Idempotency key: the same key never makes two");
}

Result<json> CreateOptions::body(client::Client& client) const {
  json body = json::object();
  if (!image.empty()) body["image"] = image;
  if (!snapshot.empty()) body["snapshot"] = snapshot;
  if (!workspaces.empty()) body["workspaces"] = workspaces;
  if (!toolkits.empty()) body["toolkits"] = toolkits;
  if (!project.empty()) body["project"] = project;
  if (!task.empty()) body["task"] = task;
  if (!idle_action.empty()) body["idle_action"] = idle_action;
  if (!key.empty()) body["idempotency_key"] = key;
  for (const auto& label : labels) {
    HARENA_TRY(const auto pair, parse_pair(label, "--label"));
    body["labels"][pair.first] = pair.second;
  }
  HARENA_TRY_STATUS(put_duration(body, "idle_ttl_s", idle_ttl, "--idle-ttl"));
  HARENA_TRY_STATUS(put_duration(body, "lifetime_s", lifetime, "--lifetime"));
  auto pairs = limits.pairs();
  pairs.insert(pairs.end(), params.begin(), params.end());
  if (pairs.empty()) return body;
  HARENA_TRY(const auto schema, backend_schema(client, backend));
  HARENA_TRY(body["params"], typed_params(schema, backend, pairs));
  return body;
}

}  // namespace harena::cli
