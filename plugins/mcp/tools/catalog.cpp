#include "plugins/mcp/tools/catalog.hpp"

namespace harena::mcp {

using nlohmann::json;

namespace {

constexpr const char* kTools = R"json([
  {"name": "create", "title": "Create a sandbox",
   "description": "Makes an isolated Linux environment and answers its sandbox_id, which the other tools take. Its network is closed.",
   "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false},
   "inputSchema": {"type": "object", "additionalProperties": false, "properties": {
     "image": {"type": "string", "minLength": 1,
       "description": "Reference of an image, such as root/base:v1; without it the installation's default."},
     "backend": {"type": "string", "minLength": 1, "default": "container", "description": "The kind of environment."},
     "project": {"type": "string", "minLength": 1, "description": "Where it belongs; without it the token's project."},
     "cpu": {"type": "number", "exclusiveMinimum": 0, "description": "Cores."},
     "memory": {"type": "string", "minLength": 1, "description": "Such as 512MiB."},
     "disk": {"type": "string", "minLength": 1, "description": "How much it may write, such as 2GiB."},
     "env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Variables of all its commands."},
     "labels": {"type": "object", "additionalProperties": {"type": "string"}, "description": "To find it by."},
     "lifetime_s": {"type": "integer", "minimum": 1, "maximum": 315360000, "description": "Seconds until it ends, whatever runs in it."}}},
   "outputSchema": {"type": "object", "required": ["sandbox_id", "state", "image", "expires_ms"], "properties": {
     "sandbox_id": {"type": "string"}, "state": {"type": "string"}, "image": {"type": "string"},
     "expires_ms": {"type": "integer", "description": "Milliseconds since 1970; 0: no end."}}}},
  {"name": "run", "title": "Run a command",
   "description": "Runs a command in a sandbox and waits for its end. A command that fails is no error of the tool: see exit_code.",
   "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false},
   "inputSchema": {"type": "object", "additionalProperties": false, "required": ["sandbox_id"], "properties": {
     "sandbox_id": {"type": "string", "minLength": 1},
     "command": {"type": "string", "minLength": 1, "description": "For the shell of the image. Either this or argv."},
     "argv": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "A program and its arguments, without a shell."},
     "cwd": {"type": "string", "minLength": 1, "description": "An absolute path."},
     "user": {"type": "string", "minLength": 1, "description": "A user of the image; without it the image's own."},
     "env": {"type": "object", "additionalProperties": {"type": "string"}},
     "stdin": {"type": "string", "description": "All that it reads."},
     "timeout_s": {"type": "number", "exclusiveMinimum": 0, "maximum": 86400, "default": 300,
       "description": "Then it is ended, with all that it started."}}},
   "outputSchema": {"type": "object", "required": [
     "exit_code", "signal", "cause", "stdout", "stderr", "stdout_truncated", "stderr_truncated", "duration_ms"],
    "properties": {
     "exit_code": {"type": ["integer", "null"], "description": "null: it was ended by a signal."}, "signal": {"type": ["string", "null"]},
     "cause": {"type": "string", "description": "exit, signal, timeout, oom, pids, disk, sandbox_stopped ..."},
     "stdout": {"type": "string"}, "stderr": {"type": "string"},
     "stdout_truncated": {"type": "boolean"}, "stderr_truncated": {"type": "boolean"}, "duration_ms": {"type": "integer"}}}},
  {"name": "read", "title": "Read a file",
   "description": "Reads a file of a sandbox, or a part of it. Text comes as text, an image as an image, other bytes as base64.",
   "annotations": {"readOnlyHint": true, "openWorldHint": false},
   "inputSchema": {"type": "object", "additionalProperties": false, "required": ["sandbox_id", "path"], "properties": {
     "sandbox_id": {"type": "string", "minLength": 1}, "path": {"type": "string", "minLength": 1, "description": "An absolute path."},
     "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "The first byte."},
     "length": {"type": "integer", "minimum": 1, "description": "Bytes at most; without it as many as one answer holds."},
     "user": {"type": "string", "minLength": 1, "description": "With whose rights; root without it."}}},
   "outputSchema": {"type": "object", "required": ["path", "size", "offset", "length", "more", "encoding", "data"], "properties": {
     "path": {"type": "string"}, "size": {"type": "integer", "description": "Of the whole file."}, "offset": {"type": "integer"},
     "length": {"type": "integer"}, "more": {"type": "boolean", "description": "There is something behind these."},
     "encoding": {"enum": ["utf-8", "base64"]}, "data": {"type": "string"}}}},
  {"name": "write", "title": "Write a file",
   "description": "Makes or replaces a file of a sandbox: a reader sees the old one or the whole new one.",
   "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false},
   "inputSchema": {"type": "object", "additionalProperties": false, "required": ["sandbox_id", "path"], "properties": {
     "sandbox_id": {"type": "string", "minLength": 1}, "path": {"type": "string", "minLength": 1,
       "description": "An absolute path; folders that are missing are made."},
     "text": {"type": "string", "description": "What is to be in it. Either this or data_base64."},
     "data_base64": {"type": "string", "description": "The same for what isn't text."},
     "mode": {"type": "string", "minLength": 3, "maxLength": 4, "description": "Octal digits, such as 0755."},
     "user": {"type": "string", "minLength": 1, "description": "Whose it is; root's without it."}}},
   "outputSchema": {"type": "object", "required": ["path", "size", "mode"], "properties": {
     "path": {"type": "string"}, "size": {"type": "integer"}, "mode": {"type": "string"}}}},
  {"name": "list", "title": "List sandboxes, or the files of a folder",
   "description": "Without sandbox_id: the sandboxes that live, of the token's project. With sandbox_id: what is in a folder of it.",
   "annotations": {"readOnlyHint": true, "openWorldHint": false},
   "inputSchema": {"type": "object", "additionalProperties": false, "properties": {
     "sandbox_id": {"type": "string", "minLength": 1},
     "path": {"type": "string", "minLength": 1, "description": "A folder's absolute path; only with sandbox_id, / without it."},
     "recursive": {"type": "boolean", "description": "With all below; only with sandbox_id."},
     "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
     "cursor": {"type": "string", "minLength": 1, "description": "The next_cursor of the answer before."}}},
   "outputSchema": {"type": "object", "required": ["next_cursor"], "properties": {
     "sandboxes": {"type": "array", "items": {"type": "object", "required": ["sandbox_id", "state"], "properties": {
       "sandbox_id": {"type": "string"}, "state": {"type": "string"}, "image": {"type": "string"}, "backend": {"type": "string"},
       "labels": {"type": "object"}, "created_ms": {"type": "integer"}, "expires_ms": {"type": "integer"}}}},
     "entries": {"type": "array", "items": {"type": "object", "properties": {
       "path": {"type": "string"}, "type": {"type": "string"}, "size": {"type": "integer"}, "mode": {"type": "string"}}}},
     "next_cursor": {"type": "string", "description": "Empty: this was all."}}}},
  {"name": "kill", "title": "End a sandbox",
   "description": "Ends a sandbox with all that runs in it; its files are gone. One that has ended already is no error.",
   "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false},
   "inputSchema": {"type": "object", "additionalProperties": false, "required": ["sandbox_id"], "properties": {
     "sandbox_id": {"type": "string", "minLength": 1}}},
   "outputSchema": {"type": "object", "required": ["sandbox_id", "state"], "properties": {
     "sandbox_id": {"type": "string"}, "state": {"type": "string"}}}}
])json";

ToolFunction function_of(const std::string& name) {
  if (name == "create") return create_sandbox;
  if (name == "run") return run_command;
  if (name == "read") return read_file;
  if (name == "write") return write_file;
  if (name == "list") return list_things;
  return kill_sandbox;
}

}  // namespace

Result<Catalog> Catalog::make() {
  Catalog made;
  for (auto& listing : json::parse(kTools)) {
    const auto name = listing.at("name").get<std::string>();
    HARENA_TRY(auto arguments, schema::Schema::compile(listing.at("inputSchema")));
    HARENA_TRY_STATUS(schema::Schema::compile(listing.at("outputSchema")));
    made.tools_.push_back({name, listing, std::move(arguments), function_of(name)});
  }
  return made;
}

const Tool* Catalog::find(std::string_view name) const {
  for (const auto& one : tools_) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

json Catalog::listing() const {
  json list = json::array();
  for (const auto& one : tools_) list.push_back(one.listing);
  return list;
}

std::string Catalog::names() const {
  std::string all;
  for (const auto& one : tools_) all += (all.empty() ? "" : ", ") + one.name;
  return all;
}

}  // namespace harena::mcp
