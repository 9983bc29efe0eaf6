// What the OpenAPI document says of each operation beyond its path and summary: schemas, query parameters, media types.
#include <map>

#include "core/api/openapi.hpp"

namespace harena {

using nlohmann::json;

namespace {

struct Extra {
  std::string request;        ///< schema of the JSON body
  std::string response;       ///< schema of the answer
  int status = 200;
  std::string response_type = "application/json";
  std::vector<std::string> query;  ///< "name": optional string parameters; "name!" is required
  std::string request_type = "application/json";
};

const std::map<std::string, Extra>& extras() {
  static const std::map<std::string, Extra> kExtras = {
      {"create_sandbox", {.request = "CreateAnySandbox", .response = "Sandbox", .status = 201}},
      {"create_sandboxes", {.request = "Batch", .response = "BatchLine", .response_type = "application/x-ndjson"}},
      {"list_sandboxes",
       {.response = "SandboxList", .query = {"project", "task", "backend", "state", "label", "limit", "cursor"}}},
      {"get_sandbox", {.response = "Sandbox"}},
      {"update_sandbox", {.request = "UpdateSandbox", .response = "Sandbox"}},
      {"pause_sandbox", {.response = "Sandbox"}},
      {"resume_sandbox", {.response = "Sandbox"}},
      {"stop_sandbox", {.request = "StopSandbox", .response = "Sandbox"}},
      {"delete_sandbox", {.response = "Sandbox"}},
      {"fork_sandbox", {.request = "ForkSandbox", .response = "Fork", .status = 201}},
      {"create_snapshot", {.request = "TakeSnapshot", .response = "Snapshot", .status = 201}},
      {"rollback_sandbox", {.request = "RollBack", .response = "RolledBack"}},
      {"list_snapshots", {.response = "SnapshotList", .query = {"project", "name", "sandbox", "limit", "cursor"}}},
      {"get_snapshot", {.response = "Snapshot", .query = {"project"}}},
      {"delete_snapshot", {.query = {"project"}}},
      {"start_command", {.request = "StartCommand", .response = "Command", .status = 201}},
      {"list_commands", {.response = "CommandList"}},
      {"get_command", {.response = "Command"}},
      {"command_output",
       {.response_type = "application/x-ndjson", .query = {"stdout_offset", "stderr_offset", "follow", "background"}}},
      {"signal_command", {.request = "SignalCommand"}},
      {"resize_command", {.request = "ResizeCommand"}},
      {"write_stdin", {.query = {"offset", "eof"}, .request_type = "application/octet-stream"}},
      {"read_file", {.response_type = "application/octet-stream", .query = {"path!", "user"}}},
      {"write_file",
       {.response = "FileStat", .query = {"path!", "user", "mode", "parents", "exclusive", "offset"}, .request_type = "application/octet-stream"}},
      {"remove_file", {.query = {"path!", "user", "recursive"}}},
      {"stat_file", {.response = "FileStat", .query = {"path!", "user", "follow"}}},
      {"list_files", {.response = "FileList", .query = {"path!", "user", "recursive", "limit", "cursor", "xattrs"}}},
      {"make_folder", {.request = "MakeFolder", .response = "FileStat"}},
      {"move_file", {.request = "MoveFile", .response = "FileStat"}},
      {"change_mode", {.request = "ChangeMode", .response = "FileStat"}},
      {"change_owner", {.request = "ChangeOwner", .response = "FileStat"}},
      {"make_symlink", {.request = "MakeSymlink", .response = "FileStat"}},
      {"truncate_file", {.request = "TruncateFile", .response = "FileStat"}},
      {"list_xattrs", {.response = "XattrList", .query = {"path!", "user", "follow"}}},
      {"set_xattr", {.query = {"path!", "name!", "user", "follow"}, .request_type = "application/octet-stream"}},
      {"remove_xattr", {.query = {"path!", "name!", "user", "follow"}}},
      {"watch_files",
       {.response = "FileEvent", .response_type = "application/x-ndjson", .query = {"path!", "user", "recursive"}}},
      {"read_archive", {.response_type = "application/x-tar", .query = {"path!", "user"}}},
      {"write_archive", {.response = "ArchiveResult", .query = {"path!", "user"}, .request_type = "application/x-tar"}},
      {"list_events", {.response = "EventList", .query = {"type", "project", "sandbox", "limit", "cursor"}}},
      {"list_images", {.response = "ImageList", .query = {"prefix", "limit", "cursor"}}},
      {"import_image", {.request = "ImportImage", .response_type = "application/x-ndjson"}},
      {"tag_image", {.request = "TagImage"}},
      {"list_projects", {.query = {"project", "limit", "cursor"}}},
      {"create_project", {.request = "Project", .response = "Project", .status = 201}},
      {"list_tokens", {.query = {"project", "limit", "cursor"}}},
      {"create_token", {.request = "CreateToken", .response = "Token", .status = 201}},
  };
  return kExtras;
}

json reference_to(const std::string& schema) { return {{"$ref", "#/components/schemas/" + schema}}; }

json query_parameter(std::string name) {
  const bool required = name.ends_with('!');
  if (required) name.pop_back();
  json parameter = {{"name", name}, {"in", "query"}, {"required", required}};
  parameter["schema"] = {{"type", "string"}};
  return parameter;
}

}  // namespace

json openapi_operation(const std::string& operation_id) {
  json operation = json::object();
  const auto it = extras().find(operation_id);
  if (it == extras().end()) return operation;
  const Extra& extra = it->second;
  if (!extra.request.empty() || extra.request_type != "application/json") {
    auto& content = operation["requestBody"]["content"][extra.request_type];
    content = json::object();
    if (!extra.request.empty()) content["schema"] = reference_to(extra.request);
  }
  auto& answer = operation["responses"][std::to_string(extra.status)];
  answer["description"] = "Done";
  auto& content = answer["content"][extra.response_type];
  content = json::object();
  if (!extra.response.empty()) content["schema"] = reference_to(extra.response);
  for (const auto& name : extra.query) operation["parameters"].push_back(query_parameter(name));
  return operation;
}

}  // namespace harena
