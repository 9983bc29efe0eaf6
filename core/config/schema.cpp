// The schema of harena.json. docs/configuration.md has a line for every key; config_docs_test compares them.

#include "core/config/load.hpp"
#include "sdk/schema/schema.hpp"

namespace harena {
namespace {

constexpr const char* kSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "harena.json",
  "type": "object", "additionalProperties": false,
  "properties": {
    "api": {"type": "object", "additionalProperties": false, "default": {},
      "description": "The HTTP API.",
      "properties": {
        "listen": {"type": "string", "default": "127.0.0.1:7300",
          "description": "Address and port of the API. Port 0 takes any free one."},
        "tls": {"type": "object", "additionalProperties": false, "required": ["cert", "key"],
          "description": "Serve HTTPS instead of HTTP. Both files are needed.",
          "properties": {
            "cert": {"type": "string", "pattern": "^/",
              "description": "PEM file with the certificate and its chain; absolute path."},
            "key": {"type": "string", "pattern": "^/",
              "description": "PEM file with the private key; absolute path."}}}}},
    "health": {"type": "object", "additionalProperties": false, "default": {},
      "description": "Metrics and health (/metrics /healthz /readyz), without authentication.",
      "properties": {
        "listen": {"type": "string", "default": "127.0.0.1:9467",
          "description": "Address and port."}}},
    "state_dir": {"type": "string", "pattern": "^/", "default": "/var/lib/harena",
      "description": "What outlives a reboot: the state store, images, the sandboxes' disks, the admin token."},
    "run_dir": {"type": "string", "pattern": "^/", "default": "/run/harena",
      "description": "Sockets and what may be lost with a reboot."},
    "plugin_dirs": {"type": "array", "minItems": 1, "maxItems": 16, "items": {"type": "string", "pattern": "^/"},
      "default": ["/usr/local/lib/harena/plugins", "/usr/lib/harena/plugins"],
      "description": "Folders with one folder a plugin, searched in this order."},
    "plugins": {"type": "object", "default": {},
      "description": "Plugins by name. statestore-sqlite, imagestore-local and container are enabled without being named.",
      "additionalProperties": {"type": "object", "additionalProperties": false,
        "properties": {
          "enabled": {"type": "boolean", "default": true,
            "description": "false: the plugin isn't loaded."},
          "config": {"type": "object", "default": {},
            "description": "The plugin's own configuration, checked against its schema when it is loaded."}}}},
    "edge": {"type": "object", "additionalProperties": false, "default": {},
      "description": "This machine's part: what it may promise to sandboxes.",
      "properties": {
        "code": {"type": "string", "pattern": "^([0-9a-z]{5})?$", "default": "",
          "description": "The 5 characters with which sandbox ids of this machine begin. Empty: made at the first start."},
        "cpu_overcommit": {"type": "number", "minimum": 0.1, "maximum": 1000, "default": 8,
          "description": "CPUs that may be promised for each real one."},
        "memory_fraction": {"type": "number", "minimum": 0.01, "maximum": 100, "default": 0.9,
          "description": "The part of the machine's memory that may be promised; above 1 is overcommitment."},
        "max_sandboxes": {"type": "integer", "minimum": 1, "maximum": 1000000, "default": 10000,
          "description": "Sandboxes that may live at once."}}},
    "limits": {"type": "object", "additionalProperties": false, "default": {},
      "description": "Limits of the servers.",
      "properties": {
        "max_body_bytes": {"type": "integer", "minimum": 1024, "maximum": 1073741824, "default": 8388608,
          "description": "Size of a request body that isn't a stream."},
        "max_connections": {"type": "integer", "minimum": 1, "maximum": 1000000, "default": 20000,
          "description": "Connections at once."},
        "drain_s": {"type": "integer", "minimum": 0, "maximum": 3600, "default": 20,
          "description": "Seconds that requests in flight have to end when the server is stopped."},
        "io_threads": {"type": "integer", "minimum": 0, "maximum": 1024, "default": 0,
          "description": "Threads of the event loops. 0: one a CPU."},
        "worker_threads": {"type": "integer", "minimum": 1, "maximum": 4096, "default": 32,
          "description": "Threads for calls that block, into plugins above all."}}},
    "log": {"type": "object", "additionalProperties": false, "default": {},
      "description": "The log, on standard error.",
      "properties": {
        "level": {"enum": ["debug", "info", "warning", "error"], "default": "info",
          "description": "The least level that is written."},
        "format": {"enum": ["text", "json"], "default": "text",
          "description": "Lines for people or JSON objects, one a line."}}}
  }
})json";

}  // namespace

const nlohmann::json& config_schema() {
  static const nlohmann::json document = nlohmann::json::parse(kSchema);
  return document;
}

}  // namespace harena
