#pragma once
// The JSON Schema of the plugin's configuration, which the host checks before the plugin is made. docs/mcp.md has a line for every key.

namespace harena::mcp {

inline constexpr const char* kSettingsSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object", "additionalProperties": false,
  "properties": {
    "listen": {"type": "string", "default": "127.0.0.1:7500", "description": "Address and port. Port 0 takes any free one."},
    "tls": {"type": "object", "additionalProperties": false, "required": ["cert", "key"],
      "description": "Serve HTTPS.",
      "properties": {
        "cert": {"type": "string", "pattern": "^/", "description": "PEM file with the certificate and its chain."},
        "key": {"type": "string", "pattern": "^/", "description": "PEM file with the private key."}}},
    "allowed_origins": {"type": "array", "items": {"type": "string", "pattern": "^https?://[^/]+$"}, "default": [],
      "description": "Web pages that may call, by their origin, beside those of this machine's loopback."},
    "image": {"type": "string", "minLength": 1, "default": "root/base:v1",
      "description": "The image of a sandbox for which none is named."},
    "lifetime_s": {"type": "integer", "minimum": 1, "maximum": 315360000, "default": 3600,
      "description": "When a sandbox ends for which nothing else is said."},
    "idle_s": {"type": "integer", "minimum": 0, "maximum": 315360000, "default": 1800,
      "description": "After how long without any call a sandbox ends; 0: never."},
    "max_output_bytes": {"type": "integer", "minimum": 1024, "maximum": 16777216, "default": 65536,
      "description": "How much of each stream of a command, and of a file, one answer holds at most."},
    "max_connections": {"type": "integer", "minimum": 1, "maximum": 1000000, "default": 10000, "description": "Connections at once."}}
})json";

}  // namespace harena::mcp
