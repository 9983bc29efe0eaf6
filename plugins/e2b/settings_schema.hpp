#pragma once
// The JSON Schema of the plugin's configuration, which the host checks before the plugin is made. docs/e2b.md has a line for
// every key.

namespace harena::e2b {

inline constexpr const char* kSettingsSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object", "additionalProperties": false,
  "properties": {
    "listen": {"type": "string", "default": "127.0.0.1:7400", "description": "Address and port. Port 0 takes any free one."},
    "tls": {"type": "object", "additionalProperties": false, "required": ["cert", "key"],
      "description": "Serve HTTPS; for user ports with a wildcard certificate of *.domain.",
      "properties": {
        "cert": {"type": "string", "pattern": "^/", "description": "PEM file with the certificate and its chain."},
        "key": {"type": "string", "pattern": "^/", "description": "PEM file with the private key."}}},
    "domain": {"type": "string", "pattern": "^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?)?$", "default": "",
      "description": "Names of user ports are PORT-ID.domain; empty: localhost with the port."},
    "public_url": {"type": "string", "pattern": "^(https?://[^/]+)?$", "default": "",
      "description": "What clients use as E2B_API_URL and E2B_SANDBOX_URL; empty: made from the address."},
    "max_timeout_s": {"type": "integer", "minimum": 1, "maximum": 31536000, "default": 86400,
      "description": "The longest timeout of a sandbox."},
    "max_connections": {"type": "integer", "minimum": 1, "maximum": 1000000, "default": 20000,
      "description": "Connections at once."},
    "warm_token_file": {"type": "string", "pattern": "^(/.*)?$", "default": "",
      "description": "File with the token that ready sandboxes (templates.NAME.warm) are made with, before they are anybody's."},
    "templates": {"type": "object", "default": {"base": {"image": "root/base:v1"}},
      "description": "What templateID may be: names and stacks of images.",
      "additionalProperties": {"type": "object", "additionalProperties": false, "required": ["image"],
        "properties": {
          "aliases": {"type": "array", "items": {"type": "string", "minLength": 1}, "default": [],
            "description": "Other names of it."},
          "backend": {"type": "string", "default": "container", "description": "The backend of its sandboxes."},
          "image": {"type": "string", "minLength": 1, "description": "The base image."},
          "workspaces": {"type": "array", "items": {"type": "string"}, "default": [], "description": "Layers above it."},
          "toolkits": {"type": "array", "items": {"type": "string"}, "default": [], "description": "Layers on top."},
          "params": {"type": "object", "default": {}, "description": "Further parameters of the backend."},
          "cpu": {"type": "number", "minimum": 0, "maximum": 1024, "default": 0, "description": "Cores; 0: the backend's default."},
          "memory_mb": {"type": "integer", "minimum": 0, "maximum": 16777216, "default": 0, "description": "Memory; 0: the backend's default."},
          "disk_mb": {"type": "integer", "minimum": 0, "maximum": 8388608, "default": 0,
            "description": "What it may write; 0: no limit of its own."},
          "start_command": {"type": "string", "default": "", "description": "Started in every new sandbox."},
          "ready_command": {"type": "string", "default": "",
            "description": "Repeated until it ends with 0 before create answers."},
          "ready_timeout_s": {"type": "integer", "minimum": 1, "maximum": 600, "default": 60,
            "description": "How long that may take."},
          "warm": {"type": "integer", "minimum": 0, "maximum": 100, "default": 0,
            "description": "Sandboxes that are kept ready, their start command running, for creates to take."},
          "user": {"type": "string", "minLength": 1, "default": "user", "description": "The user of commands that name none."},
          "workdir": {"type": "string", "pattern": "^(/.*)?$", "default": "",
            "description": "The folder of commands that name none; empty: the user's home."}}}}}
})json";

}  // namespace harena::e2b
