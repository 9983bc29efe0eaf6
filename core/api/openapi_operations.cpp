// What the OpenAPI document says of each operation beyond its path and summary: schemas, parameters, media types, errors, and whether a repeat
// does no harm. docs/http-api.md is the same for people.
#include <map>

#include "core/api/openapi.hpp"

namespace harena {

using nlohmann::json;

namespace {

struct Extra {
  std::string request;   ///< schema of the JSON body
  std::string response;  ///< schema of the answer
  int status = 200;
  std::string response_type = "application/json";
  std::vector<std::string> query;  ///< names of query parameters; "name!" is required
  std::string request_type = "application/json";
  std::string description;
  std::map<int, std::string> errors;  ///< beside those that every call can have
};

constexpr const char* kNdjson = "application/x-ndjson";
constexpr const char* kBytes = "application/octet-stream";
constexpr const char* kTar = "application/x-tar";
const std::string kNoSandbox = "There is no such sandbox, or the token may not see it";
const std::string kNotNow = "Its state doesn't allow it; the message names the state";
const std::string kNoVerb = "The backend hasn't got this; the message names it";
const std::string kNoRoom = "A quota or the machine has no room; the message says for what";
const std::string kNoPath = "There is no such sandbox, path or user";
const std::string kNoKind = "The file system has no attributes of this kind";
const std::string kNotThatKind = "The path is of a kind that doesn't allow it, or the sandbox isn't running";

const std::map<std::string, Extra>& extras() {
  static const std::map<std::string, Extra> kExtras = {
      {"create_sandbox",
       {.request = "CreateAnySandbox", .response = "Sandbox", .status = 201,
        .description = "Answers when it is running. Idempotent with idempotency_key or the header Idempotency-Key: the same key with the same body answers "
                       "the same sandbox with 200.",
        .errors = {{404, "No such backend, image, snapshot or project"}, {409, "The key was used with another body"}, {429, kNoRoom}}}},
      {"create_sandboxes",
       {.request = "Batch", .response = "BatchLine", .response_type = kNdjson,
        .description = "One line as each is ready; each is made or refused by itself. May be sent again under the same keys."}},
      {"list_sandboxes",
       {.response = "SandboxList", .query = {"project", "task", "backend", "state", "label", "limit", "cursor"}, .description = "Ordered by id."}},
      {"get_sandbox", {.response = "Sandbox", .errors = {{404, kNoSandbox}}}},
      {"update_sandbox",
       {.request = "UpdateSandbox", .response = "Sandbox", .description = "All of it or nothing. Idempotent, but with if_labels.",
        .errors = {{404, kNoSandbox}, {409, "if_labels aren't its labels, or more is in use than a new limit would leave"}, {429, kNoRoom}, {501, kNoVerb}}}},
      {"pause_sandbox", {.response = "Sandbox", .description = "Idempotent.", .errors = {{404, kNoSandbox}, {409, kNotNow}, {501, kNoVerb}}}},
      {"resume_sandbox",
       {.response = "Sandbox", .description = "Idempotent.", .errors = {{404, kNoSandbox}, {409, kNotNow}, {429, kNoRoom}, {501, kNoVerb}}}},
      {"stop_sandbox",
       {.request = "StopSandbox", .response = "Sandbox", .description = "Answers when nothing of it runs any more. Idempotent.", .errors = {{404, kNoSandbox}}}},
      {"delete_sandbox", {.response = "Sandbox", .description = "As stop_sandbox without a grace. Idempotent.", .errors = {{404, kNoSandbox}}}},
      {"sandbox_usage", {.response = "Usage", .errors = {{404, kNoSandbox}, {409, kNotNow}}}},
      {"fork_sandbox",
       {.request = "ForkSandbox", .response = "Fork", .status = 201,
        .description = "Children are sandboxes as any other; each is made or refused by itself. Idempotent with idempotency_key.",
        .errors = {{404, kNoSandbox}, {409, kNotNow}, {429, kNoRoom}, {501, kNoVerb}}}},
      {"create_snapshot",
       {.request = "TakeSnapshot", .response = "Snapshot", .status = 201, .description = "Idempotent with idempotency_key.",
        .errors = {{404, kNoSandbox}, {409, "The name is taken, or its state doesn't allow it"}, {429, kNoRoom}, {501, kNoVerb}}}},
      {"rollback_sandbox",
       {.request = "RollBack", .response = "RolledBack", .description = "Idempotent. What runs in the sandbox is ended.",
        .errors = {{404, "There is no such sandbox or snapshot"}, {409, kNotNow}, {501, kNoVerb}}}},
      {"list_snapshots",
       {.response = "SnapshotList", .query = {"project", "name", "sandbox", "limit", "cursor"}, .description = "Ordered by id."}},
      {"get_snapshot", {.response = "Snapshot", .query = {"project"}, .errors = {{404, "There is no such snapshot"}}}},
      {"delete_snapshot",
       {.response = "Nothing", .query = {"project"}, .description = "What was made of it goes on.", .errors = {{404, "There is no such snapshot"}}}},
      {"start_command",
       {.request = "StartCommand", .response = "Command", .status = 201,
        .description = "With wait: 200 and the whole result; with attach: 200 and the lines of command_output behind its start. Exactly once with op: "
                       "the same op attaches to, or answers, what it started.",
        .errors = {{403, "details.reason not_executable, or the token may not run commands"},
                   {404, "No such sandbox, or details.reason no_such_program, no_such_cwd, no_such_user, no_such_group"},
                   {409, "The sandbox isn't running, or the op was used with other arguments"},
                   {429, "A limit of the sandbox (details.cause_detail) left no room for another command"}}}},
      {"list_commands", {.response = "CommandList", .errors = {{404, kNoSandbox}, {409, kNotNow}}}},
      {"get_command", {.response = "Command", .errors = {{404, "No such sandbox or command"}, {409, kNotNow}}}},
      {"forget_command",
       {.response = "Nothing", .description = "Kills what it started (SIGKILL) and forgets it.", .errors = {{404, "No such sandbox or command"}, {409, kNotNow}}}},
      {"command_output",
       {.response = "OutputLine", .response_type = kNdjson, .query = {"stdout_offset", "stderr_offset", "follow", "background"},
        .description = "Any number of readers, each from any offset; {} every 15 s as a sign of life. A connection that ends without exit or error was "
                       "lost: ask again behind the last byte.",
        .errors = {{404, "No such sandbox or command"}, {409, kNotNow}}}},
      {"attach_command",
       {.status = 101, .query = {"stdout_offset", "stderr_offset", "background"},
        .description = "WebSocket: binary messages carry bytes both ways; text messages are JSON objects: resize, signal, eof; exit, error, truncated.",
        .errors = {{404, "No such sandbox or command"}, {409, kNotNow}}}},
      {"signal_command",
       {.request = "SignalCommand", .response = "Nothing", .errors = {{404, "No such sandbox or command"}, {409, "The command or its sandbox has ended"}}}},
      {"resize_command",
       {.request = "ResizeCommand", .response = "Nothing", .description = "Idempotent.",
        .errors = {{404, "No such sandbox or command"}, {409, "It has no terminal, or it or its sandbox has ended"}}}},
      {"write_stdin",
       {.response = "Accepted", .query = {"offset", "eof"}, .request_type = kBytes,
        .description = "Answers when the command's stdin has taken all. Idempotent with offset.",
        .errors = {{404, "No such sandbox or command"}, {409, "It has no stdin, or has closed it, or has ended"}, {416, "offset is behind what was taken: a gap"}}}},
      {"console",
       {.status = 101, .description = "WebSocket, binary messages: the serial line, both ways; the last 64 KiB come first.",
        .errors = {{404, kNoSandbox}, {409, kNotNow}, {501, kNoVerb}}}},
      {"vnc",
       {.status = 101, .description = "WebSocket, binary messages: RFB 3.8 without a password of its own, for noVNC.",
        .errors = {{404, kNoSandbox}, {409, kNotNow}, {501, kNoVerb}}}},
      {"read_file",
       {.response_type = kBytes, .query = {"path!", "user"},
        .description = "Conditions (ETag, Last-Modified) and Range with one part as RFC 9110 says: 304, 206, 412.",
        .errors = {{404, kNoPath}, {409, kNotThatKind}, {416, "The range begins behind the file's end"}}}},
      {"write_file",
       {.response = "FileStat", .query = {"path!", "user", "mode", "parents", "exclusive", "offset"}, .request_type = kBytes,
        .description = "Atomic without offset: readers see the old file or the whole new one, and an upload that is cut off leaves nothing. Idempotent.",
        .errors = {{404, kNoPath}, {409, "exclusive and it is there; or its kind doesn't allow it"}, {412, "If-None-Match: * and it is there"},
                   {416, "offset is behind the file's end"}, {429, "The disk is full (details.cause_detail disk)"}}}},
      {"remove_file",
       {.response = "Nothing", .query = {"path!", "user", "recursive"}, .errors = {{404, kNoPath}, {409, "A folder that isn't empty, or a mount point"}}}},
      {"stat_file", {.response = "FileStat", .query = {"path!", "user", "follow"}, .errors = {{404, kNoPath}}}},
      {"list_files",
       {.response = "FileList", .query = {"path!", "user", "recursive", "limit", "cursor", "xattrs"}, .description = "Sorted by bytes, without following symlinks.",
        .errors = {{404, kNoPath}, {409, kNotThatKind}}}},
      {"make_folder", {.request = "MakeFolder", .response = "FileStat", .description = "Idempotent with parents.", .errors = {{404, kNoPath}, {409, "It is there already"}}}},
      {"move_file", {.request = "MoveFile", .response = "FileStat", .description = "rename(2): atomic.", .errors = {{404, kNoPath}, {409, kNotThatKind}}}},
      {"change_mode", {.request = "ChangeMode", .response = "FileStat", .description = "Idempotent.", .errors = {{404, kNoPath}}}},
      {"change_owner", {.request = "ChangeOwner", .response = "FileStat", .description = "Idempotent.", .errors = {{404, kNoPath}}}},
      {"make_symlink", {.request = "MakeSymlink", .response = "FileStat", .errors = {{404, kNoPath}, {409, "It is there already"}}}},
      {"truncate_file", {.request = "TruncateFile", .response = "FileStat", .description = "Idempotent.", .errors = {{404, kNoPath}, {409, kNotThatKind}}}},
      {"list_xattrs", {.response = "XattrList", .query = {"path!", "user", "follow"}, .errors = {{404, kNoPath}}}},
      {"set_xattr",
       {.response = "Nothing", .query = {"path!", "name!", "user", "follow"}, .request_type = kBytes,
        .description = "The body, at most 64 KiB, becomes the value. Idempotent.", .errors = {{404, kNoPath}, {501, kNoKind}}}},
      {"remove_xattr",
       {.response = "Nothing", .query = {"path!", "name!", "user", "follow"}, .errors = {{404, "No such path or attribute"}, {501, kNoKind}}}},
      {"watch_files",
       {.response = "FileEvent", .response_type = kNdjson, .query = {"path!", "user", "recursive"},
        .description = "{\"event\":\"ready\"} first: from there on nothing is missed, or {\"overflow\":true} says so.", .errors = {{404, kNoPath}, {409, kNotThatKind}}}},
      {"read_archive", {.response_type = kTar, .query = {"path!", "user"}, .errors = {{404, kNoPath}, {409, kNotThatKind}}}},
      {"write_archive",
       {.response = "ArchiveResult", .query = {"path!", "user"}, .request_type = kTar, .description = "Each file atomically; folders are merged.",
        .errors = {{404, kNoPath}, {409, kNotThatKind}, {429, "The disk is full (details.cause_detail disk)"}}}},
      {"forward", {.response_type = kBytes, .description = "As forward_path, with / as path; a GET with Upgrade: tcp is a raw connection.",
                   .errors = {{404, kNoSandbox}, {409, kNotNow}, {502, "details.reason port_closed: nothing listens there; bad_answer: not HTTP"}}}},
      {"forward_path", {.response_type = kBytes, .description = "The request goes to the service and its answer comes back, both as they are.",
                        .errors = {{404, kNoSandbox}, {409, kNotNow}, {502, "details.reason port_closed: nothing listens there; bad_answer: not HTTP"}}}},
      {"list_events",
       {.response = "EventList", .query = {"type", "project", "sandbox", "limit", "cursor"}, .description = "Oldest first; the latest 100,000 are kept."}},
      {"list_images", {.response = "ImageList", .query = {"prefix", "limit", "cursor"}, .description = "Those that the token may use, ordered by reference."}},
      {"get_image", {.response = "ImageWithManifest", .errors = {{404, "There is no such image"}}}},
      {"import_image",
       {.request = "ImportImage", .response = "ImportLine", .response_type = kNdjson, .query = {"reference", "kind"},
        .description = "Or an archive as body (application/x-tar, application/octet-stream) with reference and kind in the query. Lines of progress, at last "
                       "image or error. Paths of the server's machine need the permission admin.",
        .errors = {{404, "There is no such project"}}}},
      {"tag_image", {.request = "TagImage", .response = "Nothing", .description = "A tag that is there moves. Idempotent.", .errors = {{404, "There is no such image"}}}},
      {"delete_image",
       {.response = "Nothing", .description = "What uses its layers goes on. Idempotent: one that isn't there is 200.",
        .errors = {{409, "By digest, while a tag names it"}}}},
      {"list_projects", {.response = "ProjectList", .query = {"project", "limit", "cursor"}, .description = "Ordered by path."}},
      {"create_project",
       {.request = "Project", .response = "Project", .status = 201, .errors = {{404, "Its parent isn't there"}, {409, "It is there already"}}}},
      {"delete_project", {.response = "Nothing", .errors = {{404, "There is no such project"}, {409, "Something is in it"}}}},
      {"list_tokens", {.response = "TokenList", .query = {"project", "limit", "cursor"}, .description = "Without their secrets."}},
      {"create_token",
       {.request = "CreateToken", .response = "Token", .status = 201, .description = "It can't be given more than its maker has.",
        .errors = {{404, "There is no such project"}}}},
      {"revoke_token", {.response = "Nothing", .description = "At once. Those that it made go on.", .errors = {{404, "There is no such token"}}}},
      {"version", {.response = "Version"}},
      {"list_backends", {.response = "BackendList"}},
      {"list_plugins", {.response = "PluginList"}},
      {"list_nodes", {.response = "NodeList"}},
      {"doctor", {.response = "Findings"}},
      {"whoami", {.response = "Principal"}},
      {"openapi", {.response = "Document"}},
  };
  return kExtras;
}

json reference_to(const std::string& schema) { return {{"$ref", "#/components/schemas/" + schema}}; }

json error_response(const std::string& description) {
  json content;
  content["application/json"]["schema"] = reference_to("ErrorBody");
  return {{"description", description}, {"content", std::move(content)}};
}

void add_errors(json& responses, const std::map<int, std::string>& own) {
  responses["400"] = error_response("A value was wrong; the message names it and what would be right");
  responses["401"] = error_response("No token, or one that isn't known");
  responses["403"] = error_response("The token may not do this here");
  responses["503"] = error_response("Draining, or what it needs can't be reached; retry says where to ask again");
  for (const auto& [status, description] : own) responses[std::to_string(status)] = error_response(description);
  responses["default"] = error_response("What was wrong, and what would be right");
}

json request_body(const Extra& extra) {
  json body;
  auto& content = body["content"][extra.request_type];
  content = json::object();
  if (!extra.request.empty()) content["schema"] = reference_to(extra.request);
  return body;
}

json success(const Extra& extra) {
  if (extra.status == 101) return {{"description", "A WebSocket"}};
  json answer = {{"description", "Done"}};
  auto& content = answer["content"][extra.response_type];
  content = json::object();
  if (!extra.response.empty()) content["schema"] = reference_to(extra.response);
  return answer;
}

json query_parameter(const std::string& operation_id, std::string name) {
  const bool required = name.ends_with('!');
  if (required) name.pop_back();
  return openapi_parameter(operation_id, name, "query", required);
}

}  // namespace

std::vector<std::string> openapi_query(const std::string& operation_id) {
  const auto it = extras().find(operation_id);
  if (it == extras().end()) return {};
  auto names = it->second.query;
  for (auto& name : names) std::erase(name, '!');
  return names;
}

json openapi_operation(const std::string& operation_id) {
  json operation = json::object();
  const auto it = extras().find(operation_id);
  const Extra extra = it == extras().end() ? Extra{} : it->second;
  if (!extra.request.empty() || extra.request_type != "application/json") operation["requestBody"] = request_body(extra);
  if (!extra.description.empty()) operation["description"] = extra.description;
  operation["responses"][std::to_string(extra.status)] = success(extra);
  add_errors(operation["responses"], extra.errors);
  for (const auto& name : extra.query) operation["parameters"].push_back(query_parameter(operation_id, name));
  return operation;
}

}  // namespace harena
