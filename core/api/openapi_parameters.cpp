// What the OpenAPI document says of each parameter in a path or a query: type, range, default, meaning.
#include "core/api/openapi.hpp"

namespace harena {
namespace {

using nlohmann::json;

/// "OPERATION.NAME" where a name means something else in one operation, then "NAME". Bytes that a path may hold are percent-encoded.
constexpr const char* kParameters = R"json({
  "id": {"type": "string", "pattern": "^[0-9a-z]{20}$", "description": "The sandbox"},
  "revoke_token.id": {"type": "string", "description": "The token's id (`token_...` of its making, never its secret)"},
  "cid": {"type": "string", "minLength": 1, "description": "A command's id in its sandbox, from the answer to its start"},
  "backend": {"type": "string", "description": "A backend's name, as GET /v1/backends lists them"},
  "port": {"type": "integer", "minimum": 1, "maximum": 65535, "description": "A TCP port in the sandbox"},
  "rest": {"type": "string", "description": "What the service gets as its path, byte for byte"},
  "reference": {"type": "string", "maxLength": 512, "description": "project/name:tag or project/name@sha256:..., slashes percent-encoded"},
  "import_image.reference": {"type": "string", "maxLength": 512, "description": "For an archive as body: the name it gets, project/name:tag"},
  "import_image.kind": {"enum": ["base", "workspace", "toolkit"], "default": "base", "description": "For an archive as body: what it is used as"},
  "snapshot": {"type": "string", "description": "A snapshot's id, or its name in the project"},
  "path": {"type": "string", "pattern": "^/", "description": "Absolute, in the sandbox's own tree; any byte but zero, percent-encoded"},
  "delete_project.path": {"type": "string", "maxLength": 256, "description": "The project: root/rl/job-42"},
  "project": {"type": "string", "maxLength": 256, "pattern": "^root(/[a-z0-9][a-z0-9._-]{0,62})*$",
    "description": "A project's path; the token's own by default. Lists hold what is in it and below it"},
  "list_snapshots.project": {"type": "string", "maxLength": 256, "pattern": "^root(/[a-z0-9][a-z0-9._-]{0,62})*$",
    "description": "The project whose snapshots are listed; the token's own by default"},
  "task": {"type": "string", "description": "Only those of this task"},
  "list_sandboxes.backend": {"type": "string", "description": "Only those of this backend"},
  "state": {"type": "string", "description": "Only those in one of these states, separated by commas: running,paused"},
  "label": {"type": "string", "pattern": "=", "description": "Only those with this label, key=value; repeatable, all must be there"},
  "name": {"type": "string", "description": "Only the one of this name"},
  "set_xattr.name": {"type": "string", "minLength": 1, "description": "The attribute with its namespace: user.origin"},
  "remove_xattr.name": {"type": "string", "minLength": 1, "description": "The attribute with its namespace: user.origin"},
  "sandbox": {"type": "string", "pattern": "^[0-9a-z]{20}$", "description": "Only those of this sandbox"},
  "type": {"type": "string", "description": "Only these types, separated by commas: sandbox_weakened,limit_reached"},
  "prefix": {"type": "string", "description": "Only references that begin so"},
  "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100, "description": "Entries of a page, at most"},
  "list_files.limit": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 1000, "description": "Entries of a page, at most; a page may be shorter"},
  "cursor": {"type": "string", "description": "next_cursor of the page before; empty or absent: the first page"},
  "stdout_offset": {"type": "integer", "minimum": 0, "default": 0, "description": "The first byte of stdout that is wanted"},
  "stderr_offset": {"type": "integer", "minimum": 0, "default": 0, "description": "The first byte of stderr that is wanted"},
  "background": {"type": "boolean", "default": false, "description": "Also what processes left behind print after the command's end, until they close it"},
  "command_output.follow": {"type": "boolean", "default": true, "description": "false: what there is now, then the end"},
  "follow": {"type": "boolean", "default": false, "description": "A symlink as last component is followed"},
  "eof": {"type": "boolean", "default": false, "description": "Close the command's stdin behind this body"},
  "write_stdin.offset": {"type": "integer", "minimum": 0,
    "description": "The number, from the command's start, of the body's first byte: what was taken before is skipped, a gap is 416. Absent: behind what was taken"},
  "offset": {"type": "integer", "minimum": 0, "description": "Write into the file that is there from this byte on, in place; past its end is 416. Not with mode, parents, exclusive"},
  "user": {"type": "string", "default": "root", "description": "As whom: a name, a number or user:group of the sandbox"},
  "mode": {"type": "string", "pattern": "^[0-7]{1,4}$", "description": "Permission bits in octal. Absent: those of the file that is replaced, else 0644"},
  "parents": {"type": "boolean", "default": false, "description": "Make the folders that are missing above it"},
  "exclusive": {"type": "boolean", "default": false, "description": "409 if it is there already"},
  "recursive": {"type": "boolean", "default": false, "description": "With what is in its folders"},
  "xattrs": {"type": "string", "description": "With the extended attributes whose names begin so: user."}
})json";

const json& parameters() {
  static const json kParsed = json::parse(kParameters);
  return kParsed;
}

}  // namespace

json openapi_parameter(const std::string& operation_id, const std::string& name, const char* in, bool required) {
  const auto& all = parameters();
  auto known = all.find(operation_id + "." + name);
  if (known == all.end()) known = all.find(name);
  json schema = known == all.end() ? json{{"type", "string"}} : *known;
  json parameter = {{"name", name}, {"in", in}, {"required", required}};
  if (schema.contains("description")) {
    parameter["description"] = std::move(schema["description"]);
    schema.erase("description");
  }
  parameter["schema"] = std::move(schema);
  return parameter;
}

}  // namespace harena
