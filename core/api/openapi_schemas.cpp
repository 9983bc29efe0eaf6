// The schemas of the API's documents. docs/http-api.md is the same for people.
#include "core/api/openapi.hpp"

namespace harena {
namespace {

constexpr const char* kSchemas = R"json({
  "ErrorBody": {"type": "object", "required": ["error"], "properties": {"error": {"$ref": "#/components/schemas/Error"}}},
  "Error": {
    "type": "object", "required": ["code", "message", "cause", "retry"],
    "properties": {
      "code": {"enum": ["cancelled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists",
        "permission_denied", "resource_exhausted", "failed_precondition", "aborted", "out_of_range", "unimplemented",
        "internal", "unavailable", "data_loss", "unauthenticated"]},
      "message": {"type": "string", "description": "What was wrong with which value, and what would be right"},
      "cause": {"enum": ["none", "agent", "limit", "infrastructure"]},
      "retry": {"enum": ["never", "same_node", "other_node"]},
      "details": {"type": "object"}
    }
  },
  "CreateSandbox": {
    "type": "object", "additionalProperties": false,
    "properties": {
      "project": {"type": "string", "default": "root", "description": "A path: root/rl/job-42"},
      "task": {"type": "string", "default": ""},
      "image": {"type": "string", "description": "project/name:tag or project/name@sha256:..."},
      "snapshot": {"type": "string", "description": "A snapshot's id or name, in place of images"},
      "workspaces": {"type": "array", "items": {"type": "string"}},
      "toolkits": {"type": "array", "items": {"type": "string"}},
      "labels": {"type": "object", "additionalProperties": {"type": "string"}},
      "idle_ttl_s": {"type": "integer", "minimum": 0, "maximum": 315360000, "default": 300, "description": "0: never"},
      "idle_action": {"enum": ["stop", "pause"], "default": "stop"},
      "lifetime_s": {"type": "integer", "minimum": 0, "maximum": 315360000, "default": 0, "description": "0: no end"},
      "lifetime_action": {"enum": ["stop", "pause"], "default": "stop", "description": "What the end by lifetime_s does"},
      "lifetime_when_paused": {"enum": ["counts", "restarts"],
        "description": "restarts: no end while it is paused, and lifetime_s anew with the resume; always with lifetime_action pause"},
      "resume_on_use": {"type": "boolean", "default": true, "description": "false: only the verb resume ends a pause"},
      "annotations": {"type": "object", "additionalProperties": {"type": "string"},
        "description": "Texts that are only kept, 64 KiB together"},
      "params": {"type": "object", "description": "The backend's own"},
      "idempotency_key": {"type": "string", "maxLength": 128}
    }
  },
  "Batch": {
    "type": "object", "additionalProperties": false, "oneOf": [{"required": ["requests"]}, {"required": ["count", "request"]}],
    "properties": {
      "requests": {"type": "array", "minItems": 1, "maxItems": 10000, "items": {"$ref": "#/components/schemas/CreateAnySandbox"}},
      "count": {"type": "integer", "minimum": 1, "maximum": 10000},
      "request": {"$ref": "#/components/schemas/CreateAnySandbox"}
    }
  },
  "BatchLine": {
    "type": "object", "required": ["index"],
    "properties": {"index": {"type": "integer"}, "sandbox": {"$ref": "#/components/schemas/Sandbox"},
      "error": {"$ref": "#/components/schemas/Error"}}
  },
  "State": {"enum": ["creating", "running", "pausing", "paused", "resuming", "stopping", "stopped", "failed"]},
  "Ending": {
    "type": "object", "required": ["cause", "detail", "message"],
    "properties": {"cause": {"enum": ["none", "agent", "limit", "infrastructure"]}, "detail": {"type": "string"},
      "message": {"type": "string"}}
  },
  "Sandbox": {
    "type": "object", "required": ["id", "backend", "state", "project", "created_ms"],
    "properties": {
      "id": {"type": "string", "pattern": "^[0-9a-z]{20}$"}, "backend": {"type": "string"},
      "state": {"$ref": "#/components/schemas/State"}, "project": {"type": "string"}, "task": {"type": "string"},
      "image": {"type": "string"}, "workspaces": {"type": "array", "items": {"type": "string"}},
      "toolkits": {"type": "array", "items": {"type": "string"}},
      "labels": {"type": "object", "additionalProperties": {"type": "string"}}, "params": {"type": "object"},
      "idle_ttl_s": {"type": "integer"}, "idle_action": {"enum": ["stop", "pause"]}, "lifetime_s": {"type": "integer"},
      "lifetime_action": {"enum": ["stop", "pause"]}, "lifetime_when_paused": {"enum": ["counts", "restarts"]},
      "resume_on_use": {"type": "boolean"}, "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
      "created_by": {"type": "string"}, "created_ms": {"type": "integer"}, "changed_ms": {"type": "integer"},
      "expires_ms": {"type": "integer", "description": "0: no end"}, "details": {"type": "object"},
      "forked_from": {"type": "string", "description": "The sandbox that this one was forked from; absent: none"},
      "snapshot": {"type": "string", "description": "The snapshot that it was made of; absent: none"},
      "ending": {"$ref": "#/components/schemas/Ending"}
    }
  },
  "SandboxList": {
    "type": "object", "required": ["sandboxes", "next_cursor"],
    "properties": {"sandboxes": {"type": "array", "items": {"$ref": "#/components/schemas/Sandbox"}},
      "next_cursor": {"type": "string", "description": "Empty: the end"}}
  },
  "EventList": {
    "type": "object", "required": ["events", "next_cursor"],
    "properties": {"events": {"type": "array", "items": {"type": "object", "properties": {
        "time_ms": {"type": "integer"}, "type": {"enum": ["sandbox_weakened", "limit_reached"]}, "project": {"type": "string"},
        "sandbox_id": {"type": "string"}, "principal": {"type": "string"}, "detail": {"type": "string"}}}},
      "next_cursor": {"type": "string", "description": "Empty: the end"}}
  },
  "UpdateSandbox": {
    "type": "object", "additionalProperties": false,
    "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}},
      "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
      "if_labels": {"type": "object", "additionalProperties": {"type": "string"},
        "description": "What must be among its labels, or nothing changes (409): of several that claim a label at once one gets it"},
      "give_to": {"type": "string", "description": "A token: the sandbox becomes its owner's, in that token's project and quotas"},
      "idle_ttl_s": {"type": "integer", "minimum": 0}, "lifetime_s": {"type": "integer", "minimum": 0},
      "lifetime_at_least_s": {"type": "integer", "minimum": 1, "description": "As lifetime_s, unless its end is later already"},
      "lifetime_action": {"enum": ["stop", "pause"]}, "resume_on_use": {"type": "boolean"},
      "params": {"type": "object", "description": "Parameters of the backend to change while the sandbox lives (verb resize); null: its default again"}}
  },
  "StopSandbox": {"type": "object", "additionalProperties": false,
    "properties": {"grace_ms": {"type": "integer", "minimum": 0, "maximum": 600000, "default": 0}}},
  "ForkSandbox": {"type": "object", "additionalProperties": false,
    "properties": {"count": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 1},
      "params": {"type": "object", "description": "Over those of the source"},
      "labels": {"type": "object", "additionalProperties": {"type": "string"}}, "task": {"type": "string"},
      "idle_ttl_s": {"type": "integer", "minimum": 0}, "idle_action": {"enum": ["stop", "pause"]},
      "lifetime_s": {"type": "integer", "minimum": 0}, "idempotency_key": {"type": "string", "maxLength": 124}}},
  "Fork": {"type": "object", "required": ["kept", "results"],
    "properties": {"kept": {"enum": ["memory", "filesystem"]},
      "results": {"type": "array", "items": {"$ref": "#/components/schemas/BatchLine"}}}},
  "TakeSnapshot": {"type": "object", "additionalProperties": false,
    "properties": {"name": {"type": "string", "maxLength": 63, "description": "One in its project; by default its id"},
      "idempotency_key": {"type": "string", "maxLength": 128}}},
  "Snapshot": {"type": "object", "required": ["id", "name", "project", "backend", "state", "sandbox_id", "kept"],
    "properties": {"id": {"type": "string", "pattern": "^[0-9a-z]{20}$"}, "name": {"type": "string"}, "project": {"type": "string"},
      "backend": {"type": "string"}, "state": {"enum": ["creating", "ready", "deleting"]}, "sandbox_id": {"type": "string"},
      "image": {"type": "string"}, "created_by": {"type": "string"}, "created_ms": {"type": "integer"},
      "kept": {"enum": ["memory", "filesystem", ""]}, "details": {"type": "object"}}},
  "SnapshotList": {"type": "object", "required": ["snapshots", "next_cursor"],
    "properties": {"snapshots": {"type": "array", "items": {"$ref": "#/components/schemas/Snapshot"}}, "next_cursor": {"type": "string"}}},
  "RollBack": {"type": "object", "additionalProperties": false, "required": ["snapshot"],
    "properties": {"snapshot": {"type": "string", "description": "Its id, or its name in the sandbox's project"}}},
  "RolledBack": {"type": "object", "required": ["kept", "snapshot", "sandbox"],
    "properties": {"kept": {"enum": ["memory", "filesystem"]}, "snapshot": {"$ref": "#/components/schemas/Snapshot"},
      "sandbox": {"$ref": "#/components/schemas/Sandbox"}}},
  "StartCommand": {
    "type": "object", "additionalProperties": false,
    "properties": {
      "argv": {"type": "array", "items": {"type": "string"}, "minItems": 1}, "shell": {"type": "string"},
      "env": {"type": "object", "additionalProperties": {"type": "string"}}, "cwd": {"type": "string"},
      "replace_env": {"type": "boolean", "default": false, "description": "env is all that there is"},
      "user": {"type": "string"}, "groups": {"type": "array", "items": {"type": "string"}}, "stdin": {"enum": ["none", "pipe"], "default": "none"},
      "stdin_data": {"type": "string"}, "stdin_data_b64": {"type": "string"},
      "pty": {"type": "object", "properties": {"rows": {"type": "integer"}, "cols": {"type": "integer"}}},
      "timeout_ms": {"type": "integer", "minimum": 0}, "no_output_timeout_ms": {"type": "integer", "minimum": 0},
      "output_limit_bytes": {"type": "integer", "minimum": 0, "default": 67108864},
      "on_output_limit": {"enum": ["continue", "kill"], "default": "continue"},
      "op": {"type": "string", "description": "Makes the start exactly-once"},
      "on_disconnect": {"enum": ["keep", "kill"], "default": "keep",
        "description": "kill: the command, with all it started, ends with the request that started it with wait or attach, and with each WebSocket of attach_command. command_output only reads and never ends it; a start with neither is left alone"},
      "wait": {"type": "boolean", "default": false, "description": "The answer is the whole result"},
      "attach": {"type": "boolean", "default": false,
        "description": "The answer is its start, then its output as it comes, then its exit, as command_output tells them; not with wait"},
      "trusted_tools": {"type": "boolean", "default": false,
        "description": "Run by the platform's own shell and tools, which the agent can't replace, shadow or trace"}
    }
  },
  "SignalCommand": {
    "type": "object", "additionalProperties": false,
    "properties": {
      "signal": {"type": "string", "default": "TERM", "description": "TERM, SIGTERM or 15"},
      "target": {"enum": ["process", "group", "tree"], "default": "process"}
    }
  },
  "ResizeCommand": {
    "type": "object", "additionalProperties": false, "required": ["rows", "cols"],
    "properties": {
      "rows": {"type": "integer", "minimum": 1, "maximum": 65535}, "cols": {"type": "integer", "minimum": 1, "maximum": 65535}
    }
  },
  "Exit": {
    "type": "object", "required": ["cause"],
    "properties": {
      "code": {"type": ["integer", "null"]}, "signal": {"type": ["string", "null"]},
      "cause": {"enum": ["exit", "signal", "timeout", "no_output_timeout", "oom", "pids", "disk", "output_limit",
        "sandbox_stopped", "platform"]},
      "cause_detail": {"type": "string", "description": "which limit or part: memory, pids, sandbox, spool, stream, host_memory"},
      "duration_ms": {"type": "integer"}, "exited_ms": {"type": "integer"},
      "stdout_bytes": {"type": "integer"}, "stderr_bytes": {"type": "integer"},
      "background": {"type": "boolean", "description": "a process that it left behind still held its output"},
      "oom_kills": {"type": "integer", "description": "processes of the sandbox that the OOM killer ended while it ran; left out when 0"},
      "forks_refused": {"type": "integer", "description": "forks that the limit of processes refused while it ran; left out when 0"}
    }
  },
  "Command": {
    "type": "object", "required": ["id", "state"],
    "properties": {
      "id": {"type": "string"}, "op": {"type": "string"}, "argv": {"type": "array", "items": {"type": "string"}},
      "shell": {"type": "string"}, "pid": {"type": "integer"}, "state": {"enum": ["running", "exited"]},
      "started_ms": {"type": "integer"}, "stdout_bytes": {"type": "integer"}, "stderr_bytes": {"type": "integer"},
      "exit": {"$ref": "#/components/schemas/Exit"}, "stdout": {"type": "string"}, "stdout_b64": {"type": "string"},
      "stderr": {"type": "string"}, "stderr_b64": {"type": "string"}, "stdout_truncated": {"type": "boolean"},
      "stderr_truncated": {"type": "boolean"}
    }
  },
  "CommandList": {"type": "object", "required": ["commands"],
    "properties": {"commands": {"type": "array", "items": {"$ref": "#/components/schemas/Command"}}}},
  "FileStat": {
    "type": "object", "required": ["type", "size", "mode"],
    "properties": {
      "name": {"type": "string"}, "name_b64": {"type": "string"}, "path": {"type": "string"}, "path_b64": {"type": "string"},
      "type": {"enum": ["file", "dir", "symlink", "fifo", "socket", "char", "block", "unknown"]},
      "size": {"type": "integer"}, "mode": {"type": "string", "pattern": "^[0-7]{4}$"}, "uid": {"type": "integer"},
      "gid": {"type": "integer"}, "links": {"type": "integer"}, "modified_ms": {"type": "integer"},
      "target": {"type": "string"}, "target_b64": {"type": "string"}, "unlisted": {"enum": ["permission_denied", "path_too_long"]},
      "xattrs": {"type": "array", "items": {"type": "object"}, "description": "in a list with ?xattrs=, as in XattrList"}
    }
  },
  "MakeFolder": {"type": "object", "additionalProperties": false,
    "properties": {"path": {"type": "string"}, "path_b64": {"type": "string"}, "user": {"type": "string", "default": "root"}, "mode": {"type": "string", "default": "0755"}, "parents": {"type": "boolean", "default": false}}},
  "MoveFile": {"type": "object", "additionalProperties": false,
    "properties": {"from": {"type": "string"}, "from_b64": {"type": "string"}, "to": {"type": "string"}, "to_b64": {"type": "string"},
      "user": {"type": "string", "default": "root"}, "replace": {"type": "boolean", "default": true}}},
  "ChangeMode": {"type": "object", "additionalProperties": false, "required": ["mode"],
    "properties": {"path": {"type": "string"}, "path_b64": {"type": "string"}, "user": {"type": "string", "default": "root"}, "mode": {"type": "string"}}},
  "ChangeOwner": {"type": "object", "additionalProperties": false, "required": ["uid", "gid"],
    "properties": {"path": {"type": "string"}, "path_b64": {"type": "string"}, "user": {"type": "string", "default": "root"}, "uid": {"type": "integer", "minimum": 0}, "gid": {"type": "integer", "minimum": 0}}},
  "MakeSymlink": {"type": "object", "additionalProperties": false,
    "properties": {"path": {"type": "string"}, "path_b64": {"type": "string"}, "user": {"type": "string", "default": "root"}, "target": {"type": "string"}, "target_b64": {"type": "string"}}},
  "TruncateFile": {"type": "object", "additionalProperties": false, "required": ["size"],
    "properties": {"path": {"type": "string"}, "path_b64": {"type": "string"}, "user": {"type": "string", "default": "root"}, "size": {"type": "integer", "minimum": 0}}},
  "XattrList": {"type": "object", "required": ["xattrs"],
    "properties": {"xattrs": {"type": "array", "items": {"type": "object", "required": ["value_b64"],
      "properties": {"name": {"type": "string"}, "name_b64": {"type": "string"}, "value_b64": {"type": "string"}}}}}},
  "FileEvent": {"type": "object",
    "properties": {"event": {"enum": ["ready", "create", "write", "remove", "rename", "attrib", "unwatched"]},
      "path": {"type": "string"}, "path_b64": {"type": "string"}, "to": {"type": "string"}, "to_b64": {"type": "string"},
      "is_dir": {"type": "boolean"}, "overflow": {"const": true}, "error": {"type": "object"}}},
  "ArchiveResult": {"type": "object", "required": ["entries", "bytes"],
    "properties": {"entries": {"type": "integer"}, "bytes": {"type": "integer"}}},
  "FileList": {"type": "object", "required": ["entries", "next_cursor"],
    "properties": {"entries": {"type": "array", "items": {"$ref": "#/components/schemas/FileStat"}},
      "next_cursor": {"type": "string"}}},
  "Image": {
    "type": "object", "required": ["reference", "digest", "kind"],
    "properties": {"reference": {"type": "string"}, "digest": {"type": "string"},
      "kind": {"enum": ["base", "workspace", "toolkit"]}, "size": {"type": "integer", "description": "Bytes of all layers together"},
      "layers": {"type": "integer"}, "created": {"type": "string", "description": "As the image itself says, RFC 3339; empty: it doesn't"}}
  },
  "ImageWithManifest": {"allOf": [{"$ref": "#/components/schemas/Image"}, {"type": "object", "required": ["manifest"], "properties": {"manifest": {"type": "object"}}}]},
  "ImportLine": {"type": "object",
    "properties": {"image": {"$ref": "#/components/schemas/Image"}, "error": {"$ref": "#/components/schemas/Error"},
      "progress": {"type": "object", "properties": {"step": {"type": "string"}, "done": {"type": "integer", "description": "Bytes"},
        "total": {"type": ["integer", "null"], "description": "Bytes; null: not known"}}}}},
  "ImageList": {"type": "object", "required": ["images", "next_cursor"],
    "properties": {"images": {"type": "array", "items": {"$ref": "#/components/schemas/Image"}},
      "next_cursor": {"type": "string"}}},
  "ImportImage": {
    "type": "object", "additionalProperties": false, "required": ["reference", "source"],
    "properties": {
      "reference": {"type": "string"}, "kind": {"enum": ["base", "workspace", "toolkit"], "default": "base"},
      "source": {"type": "object", "additionalProperties": false, "minProperties": 1,
        "properties": {"docker": {"type": "string"}, "folder": {"type": "string"}, "archive": {"type": "string"},
          "insecure": {"type": "boolean", "default": false, "description": "Plain HTTP for a registry"}}}
    }
  },
  "TagImage": {"type": "object", "additionalProperties": false, "required": ["reference", "target"],
    "properties": {"reference": {"type": "string"}, "target": {"type": "string"}}},
  "Project": {"type": "object", "required": ["path"],
    "properties": {"path": {"type": "string"}, "created_ms": {"type": "integer"}, "created_by": {"type": "string"},
      "limits": {"$ref": "#/components/schemas/QuotaLimits"}}},
  "ProjectList": {"type": "object", "required": ["projects", "next_cursor"],
    "properties": {"projects": {"type": "array", "items": {"$ref": "#/components/schemas/Project"}}, "next_cursor": {"type": "string"}}},
  "TokenList": {"type": "object", "required": ["tokens", "next_cursor"],
    "properties": {"tokens": {"type": "array", "items": {"$ref": "#/components/schemas/Token"}}, "next_cursor": {"type": "string"}}},
  "Version": {"type": "object", "required": ["version", "abi", "session_protocol"],
    "properties": {"version": {"type": "string"}, "abi": {"type": "string"}, "session_protocol": {"type": "string"}}},
  "Principal": {"type": "object", "required": ["principal", "project", "permissions"],
    "properties": {"principal": {"type": "string"}, "name": {"type": "string"}, "project": {"type": "string"},
      "permissions": {"type": "array", "items": {"type": "string"}}}},
  "BackendList": {"type": "object", "required": ["backends"],
    "properties": {"backends": {"type": "array", "items": {"type": "object", "required": ["name", "usable", "verbs", "params_schema"],
      "properties": {"name": {"type": "string"}, "plugin": {"type": "string"}, "version": {"type": "string"}, "usable": {"type": "boolean"},
        "why_not": {"type": "array", "items": {"type": "string"}}, "verbs": {"type": "array", "items": {"type": "string"}}, "kept": {"type": "object"},
        "needs_image": {"type": "boolean"}, "session": {"type": "boolean"}, "params_schema": {"type": "object", "description": "JSON Schema of params"},
        "facts": {"type": "object"}}}}}},
  "PluginList": {"type": "object", "required": ["plugins"],
    "properties": {"plugins": {"type": "array", "items": {"type": "object", "required": ["id", "version", "contracts", "path", "state"],
      "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "version": {"type": "string"}, "licence": {"type": "string"},
        "contracts": {"type": "array", "items": {"type": "string"}}, "path": {"type": "string"}, "state": {"type": "string"},
        "listen": {"type": "array", "items": {"type": "string"}}}}}}},
  "Resources": {"type": "object", "properties": {"cpu_milli": {"type": "integer", "description": "Thousandths of a CPU"},
    "memory_bytes": {"type": "integer"}, "sandboxes": {"type": "integer"}}},
  "NodeList": {"type": "object", "required": ["nodes"],
    "properties": {"nodes": {"type": "array", "items": {"type": "object", "required": ["edge", "state", "capacity", "used"],
      "properties": {"edge": {"type": "string"}, "state": {"type": "string"}, "why": {"type": "string"}, "labels": {"type": "object"},
        "backends": {"type": "array", "items": {"type": "string"}}, "unusable_backends": {"type": "object"},
        "capacity": {"$ref": "#/components/schemas/Resources"}, "used": {"$ref": "#/components/schemas/Resources"}}}}}},
  "Findings": {"type": "object", "required": ["findings"],
    "properties": {"findings": {"type": "array", "items": {"type": "object", "required": ["id", "level", "what"],
      "properties": {"id": {"type": "string"}, "level": {"enum": ["ok", "warning", "error"]}, "what": {"type": "string"},
        "why": {"type": "string", "description": "What it costs"}, "fix": {"type": "string", "description": "What mends it"}}}}}},
  "Usage": {"type": "object",
    "properties": {"cpu_ns": {"type": "integer"}, "cpu_throttled_ns": {"type": "integer"}, "memory_bytes": {"type": "integer"},
      "memory_peak_bytes": {"type": "integer"}, "oom_kills": {"type": "integer"}, "pids": {"type": "integer"}}},
  "Accepted": {"type": "object", "required": ["accepted"],
    "properties": {"accepted": {"type": "integer", "description": "All bytes that were taken since the command's start"}}},
  "OutputLine": {"type": "object",
    "properties": {"stream": {"enum": ["stdout", "stderr"]}, "offset": {"type": "integer"}, "data": {"type": "string"},
      "data_b64": {"type": "string", "description": "In place of data where that isn't UTF-8"}, "truncated": {"enum": ["stdout", "stderr"]},
      "exit": {"$ref": "#/components/schemas/Exit"}, "error": {"$ref": "#/components/schemas/Error"}}},
  "Nothing": {"type": "object", "maxProperties": 0},
  "Document": {"type": "object", "required": ["openapi", "paths"], "properties": {"openapi": {"type": "string"}, "paths": {"type": "object"}}},
  "QuotaLimits": {"type": "object", "additionalProperties": false,
    "properties": {"sandboxes": {"type": ["integer", "null"]}, "cpu_milli": {"type": ["integer", "null"]},
      "memory_bytes": {"type": ["integer", "null"]}}},
  "CreateToken": {
    "type": "object", "additionalProperties": false, "required": ["permissions"],
    "properties": {"name": {"type": "string"}, "project": {"type": "string", "default": "root"},
      "permissions": {"type": "array", "items": {"type": "string"}, "minItems": 1},
      "expires_s": {"type": "integer", "minimum": 0, "default": 0}, "form": {"enum": ["hrn", "e2b"], "default": "hrn"}}
  },
  "Token": {"type": "object", "required": ["id"],
    "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "project": {"type": "string"},
      "permissions": {"type": "array", "items": {"type": "string"}}, "created_ms": {"type": "integer"},
      "expires_ms": {"type": "integer"}, "secret": {"type": "string", "description": "Only in the answer to its making"}}}
})json";

}  // namespace

nlohmann::json openapi_schemas() { return nlohmann::json::parse(kSchemas); }

}  // namespace harena
