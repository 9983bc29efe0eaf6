#pragma once
// What can be scripted: the JSON Schemas of the fake's configuration and of its create parameters. Both hold the same
// rules: the configuration's are for every sandbox, the parameters' for their own.

#include <array>
#include <string_view>

namespace harena::fake {

/// The parts, one after the other, at compile time.
template <const std::string_view&... kParts>
struct Joined {
  static constexpr auto kBytes = [] {
    std::array<char, (kParts.size() + ...)> bytes{};
    std::size_t at = 0;
    for (std::string_view part : {kParts...}) {
      for (char c : part) bytes[at++] = c;
    }
    return bytes;
  }();
  static constexpr std::string_view kText{kBytes.data(), kBytes.size()};
};

inline constexpr std::string_view kScriptSchema = R"({
  "type": "array", "maxItems": 64, "default": [],
  "description": "what goes wrong or slowly, by verb; the first rule that applies is used",
  "items": {
    "type": "object", "additionalProperties": false, "required": ["verb"],
    "properties": {
      "verb": {"enum": ["describe", "probe", "create", "recover", "stop", "sweep", "usage", "pause", "resume", "snapshot",
                        "restore", "fork", "rollback"]},
      "when": {"enum": ["before", "after"], "default": "before",
               "description": "after: the verb has been done when it fails, as when a reply is lost"},
      "skip": {"type": "integer", "minimum": 0, "default": 0, "description": "calls that this rule lets pass first"},
      "times": {"type": "integer", "minimum": 0, "default": 0, "description": "calls that it applies to; 0: all"},
      "delay_ms": {"type": "integer", "minimum": 0, "maximum": 600000, "default": 0},
      "deaf": {"type": "boolean", "default": false, "description": "the delay ignores cancellation and deadline"},
      "crash": {"type": "boolean", "default": false, "description": "abort() the whole process"},
      "throws": {"type": "boolean", "default": false},
      "error": {
        "type": "object", "additionalProperties": false, "required": ["code"],
        "properties": {
          "code": {"enum": ["cancelled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists",
                            "permission_denied", "resource_exhausted", "failed_precondition", "aborted", "out_of_range",
                            "unimplemented", "internal", "unavailable", "data_loss", "unauthenticated"]},
          "message": {"type": "string", "default": "scripted failure"},
          "cause": {"enum": ["none", "agent", "limit", "infrastructure"], "default": "none"},
          "cause_detail": {"type": "string", "default": ""},
          "retry": {"enum": ["never", "same_node", "other_node"], "default": "never"}
        }
      }
    }
  }
})";

inline constexpr std::string_view kConfigStart = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "name": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,30}$", "default": "fake"},
    "state_dir": {"type": "string", "pattern": "^/", "default": "/var/lib/harena/plugins/fake",
                  "description": "where the sandboxes are kept; another instance on it finds them again"},
    "verbs": {"type": "array", "uniqueItems": true, "default": ["pause", "resume", "snapshot", "restore", "fork", "rollback"],
              "items": {"enum": ["pause", "resume", "snapshot", "restore", "fork", "rollback"]},
              "description": "the optional verbs that it has; a half pair makes the host refuse it"},
    "needs_image": {"type": "boolean", "default": false},
    "usable": {"type": "boolean", "default": true},
    "why_not": {"type": "array", "items": {"type": "string"}, "default": []},
    "capacity": {"type": "integer", "minimum": 0, "default": 0, "description": "sandboxes at once; 0: no limit"},
    "shim": {"type": "string", "default": "", "description": "path of harena-shim, for session: host"},
    "script": )";

inline constexpr std::string_view kParamsStart = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "note": {"type": "string", "maxLength": 1000, "default": "", "description": "kept, and shown in details"},
    "session": {"enum": ["none", "host"], "default": "none",
                "description": "host: a real harena-shim runs commands on this host, without any isolation"},
    "gone_on_recover": {"type": "boolean", "default": false},
    "usage": {"type": "object", "additionalProperties": {"type": "integer"}, "default": {},
              "description": "what usage reports instead"},
    "exit": {
      "type": "object", "additionalProperties": false, "required": ["after_ms"],
      "description": "the sandbox ends by itself, with an event",
      "properties": {
        "after_ms": {"type": "integer", "minimum": 0, "maximum": 86400000},
        "cause": {"enum": ["none", "agent", "limit", "infrastructure"], "default": "agent"},
        "detail": {"type": "string", "default": ""}
      }
    },
    "script": )";

inline constexpr std::string_view kEnd = "}}";
inline constexpr std::string_view kConfigSchema = Joined<kConfigStart, kScriptSchema, kEnd>::kText;
inline constexpr std::string_view kParamsSchema = Joined<kParamsStart, kScriptSchema, kEnd>::kText;

}  // namespace harena::fake
