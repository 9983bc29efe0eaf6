#include "plugins/container/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "sdk/base/text.hpp"

namespace harena::container {
namespace {

// Two spellings of memory: bytes, or a text with a unit. Numbers here are those of the constants in the header.
constexpr const char* kSchema = R"({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "cpu": {"type": "number", "minimum": 0.01, "maximum": 1024, "default": 1,
            "description": "cores, also parts of one; a quota over periods of 100 ms"},
    "cpu_weight": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 100,
                   "description": "share among sandboxes that compete for the CPU, as in cgroup v2's cpu.weight"},
    "memory": {"type": ["string", "integer"],
               "description": "size such as 512MiB, or bytes; 8 MiB to 16 TiB, without it 1 GiB; swap is not used"},
    "memory_bytes": {"type": "integer", "minimum": 8388608, "maximum": 17592186044416, "description": "the same in bytes"},
    "pids": {"type": "integer", "minimum": 4, "maximum": 4000000, "default": 1024, "description": "processes and threads"},
    "disk_bytes": {"type": "integer", "minimum": 1, "description": "not supported yet: refused"},
    "shm": {"type": ["string", "integer"], "default": "64MiB", "description": "size of /dev/shm, charged to memory"},
    "tmpfs": {"type": "object", "additionalProperties": {"type": ["string", "integer"]}, "default": {},
              "description": "path to size of memory file systems, e.g. {\"/tmp\": \"256MiB\"}; charged to memory"},
    "hostname": {"type": "string", "pattern": "^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$", "description": "default: the sandbox's id"},
    "env": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}, "description": "environment of every command"},
    "network": {"type": "object", "properties": {"mode": {"type": "string"}}, "default": {"mode": "none"},
                "description": "only {\"mode\": \"none\"} (loopback) so far; everything else is refused"},
    "user": {"type": "string", "default": "", "description": "user of commands that name none; empty: the image's, else root"},
    "readonly_rootfs": {"type": "boolean", "default": false},
    "mounts": {"type": "array", "maxItems": 32, "default": [],
               "items": {"type": "object", "required": ["source", "target"], "additionalProperties": false,
                         "properties": {"source": {"type": "string"}, "target": {"type": "string"}, "writable": {"type": "boolean", "default": false}}},
               "description": "folders of the host, read-only; below the operator's host_mount_roots, and only with his allowance host_mounts"},
    "capabilities": {"type": "array", "items": {"type": "string"}, "default": [],
                     "description": "capabilities beyond the default set, such as net_raw; each needs the operator's allowance capability:NAME"},
    "privileged": {"type": "boolean", "default": false, "description": "not supported: refused"},
    "devices": {"type": "array", "items": {"type": "string"}, "default": [], "description": "not supported: refused"},
    "nested_user_namespaces": {"type": "boolean", "default": false, "description": "not supported: refused"},
    "docker": {"type": "boolean", "default": false, "description": "not supported: refused"}
  }
})";

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 80 ? text.substr(0, 80) + "..." : text;
}

Error bad(const std::string& name, const json& value, const std::string& right) {
  return make_error(ErrorCode::invalid_argument, "parameter '" + name + "' is " + shown(value) + "; right is " + right);
}

Result<double> number(const std::string& name, const json& value, double min, double max, const std::string& right) {
  if (!value.is_number()) return bad(name, value, right);
  const double wanted = value.get<double>();
  // Written so that NaN fails too.
  if (!(wanted >= min && wanted <= max)) return bad(name, value, right);
  return wanted;
}

Result<std::int64_t> integer(const std::string& name, const json& value, std::int64_t min, std::int64_t max) {
  const std::string right = "an integer from " + std::to_string(min) + " to " + std::to_string(max);
  if (!value.is_number_integer()) return bad(name, value, right);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return bad(name, value, right);
  const auto wanted = value.get<std::int64_t>();
  if (wanted < min || wanted > max) return bad(name, value, right);
  return wanted;
}

Result<std::int64_t> size(const std::string& name, const json& value, std::int64_t min, std::int64_t max) {
  const std::string right = "a size such as \"512MiB\" or bytes, from " + std::to_string(min) + " to " + std::to_string(max);
  if (!value.is_string()) {
    auto plain = integer(name, value, min, max);
    return plain.ok() ? plain : Result<std::int64_t>(bad(name, value, right));
  }
  auto bytes = parse_size(value.get<std::string>());
  if (!bytes.ok() || *bytes < min || *bytes > max) return bad(name, value, right);
  return bytes;
}

bool is_host_label(const std::string& text) {
  auto inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' && std::all_of(text.begin(), text.end(), inner);
}

Result<std::map<std::string, std::string>> environment(const json& value) {
  if (!value.is_object()) return bad("env", value, "an object of texts");
  std::map<std::string, std::string> env;
  for (const auto& [name, text] : value.items()) {
    if (!text.is_string()) return bad("env." + name, text, "a text");
    auto content = text.get<std::string>();
    if (name.empty() || name.find_first_of(std::string("=\0", 2)) != std::string::npos || content.find('\0') != std::string::npos) {
      return bad("env." + name, text, "a name without '=' and a value without NUL");
    }
    env[name] = std::move(content);
  }
  return env;
}

/// Absolute, without empty, "." or ".." components, and not a place that the platform itself mounts.
bool is_tmpfs_path(const std::string& path) {
  if (path.size() < 2 || path[0] != '/' || path.find('\0') != std::string::npos || path.find('=') != std::string::npos) return false;
  const auto parts = split(std::string_view(path).substr(1), '/');
  for (const auto& part : parts) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return parts[0] != "proc" && parts[0] != "sys" && parts[0] != "dev";
}

Status set_tmpfs(const json& value, Parameters& out) {
  if (!value.is_object()) return bad("tmpfs", value, "an object from path to size");
  constexpr std::size_t kMostTmpfs = 16;
  if (value.size() > kMostTmpfs) return bad("tmpfs", value.size(), "at most 16 paths");
  for (const auto& [path, bytes] : value.items()) {
    if (!is_tmpfs_path(path)) {
      return bad("tmpfs", path, "an absolute path without '.', '..' or '=', not below /proc, /sys or /dev");
    }
    HARENA_TRY(auto amount, size("tmpfs." + path, bytes, 4096, kMaxMemoryBytes));
    out.tmpfs.emplace_back(path, amount);
  }
  return {};
}

Status set_network(const json& value) {
  if (!value.is_object()) return bad("network", value, "{\"mode\": \"none\"}");
  for (const auto& [key, setting] : value.items()) {
    if (key != "mode") {
      return make_error(ErrorCode::unimplemented, "parameter 'network." + key + "': this backend can't open the network yet; {\"mode\": \"none\"} is right");
    }
    if (setting != "none") {
      return make_error(ErrorCode::unimplemented, "parameter 'network.mode' is " + shown(setting) + ": this backend has only \"none\" (loopback) so far");
    }
  }
  return {};
}

Status set_one(const std::string& name, const json& value, Parameters& out) {
  if (is_weakening(name)) return parse_weakening(name, value, out.weakening);
  if (name == "cpu") {
    HARENA_TRY(double cores, number(name, value, kMinCpu, kMaxCpu, "a number of cores from 0.01 to 1024"));
    out.cpu_millicores = std::llround(cores * 1000);
    return {};
  }
  if (name == "cpu_weight") {
    HARENA_TRY(out.cpu_weight, integer(name, value, 1, 10000));
  } else if (name == "memory" || name == "memory_bytes") {
    HARENA_TRY(out.memory_bytes, size(name, value, kMinMemoryBytes, kMaxMemoryBytes));
  } else if (name == "pids") {
    HARENA_TRY(out.pids, integer(name, value, kMinPids, kMaxPids));
  } else if (name == "disk_bytes") {
    return make_error(ErrorCode::unimplemented, "parameter 'disk_bytes' is " + shown(value) + ": this backend can't limit the disk of a sandbox yet; leave it out");
  } else if (name == "shm") {
    HARENA_TRY(out.shm_bytes, size(name, value, 4096, kMaxMemoryBytes));
  } else if (name == "tmpfs") {
    return set_tmpfs(value, out);
  } else if (name == "hostname") {
    if (!value.is_string() || !is_host_label(value.get<std::string>())) {
      return bad(name, value, "1 to 63 letters, digits and inner dashes");
    }
    out.hostname = value.get<std::string>();
  } else if (name == "env") {
    HARENA_TRY(out.env, environment(value));
  } else if (name == "network") {
    return set_network(value);
  } else if (name == "user") {
    if (!value.is_string() || value.get<std::string>().find('\0') != std::string::npos) return bad(name, value, "a user's name or number");
    out.user = value.get<std::string>();
  } else if (name == "readonly_rootfs") {
    if (!value.is_boolean()) return bad(name, value, "true or false");
    out.readonly_rootfs = value.get<bool>();
  } else {
    std::vector<std::string> known;
    for (const auto& [key, unused] : parameters_schema()["properties"].items()) known.push_back(key);
    return make_error(ErrorCode::invalid_argument, "unknown parameter '" + name + "'" + suggestion(name, known));
  }
  return {};
}

}  // namespace

CapabilityMask default_capabilities() {
  CapabilityMask mask = 0;
  for (const char* name : {"chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap", "setfcap",
                           "net_bind_service", "sys_chroot", "audit_write"}) {
    mask |= capability_bit(name).value();
  }
  return mask;
}

const json& parameters_schema() {
  static const json kParsed = json::parse(kSchema);
  return kParsed;
}

Result<Parameters> parse_parameters(const json& params) {
  if (!params.is_object()) return bad("params", params, "an object");
  if (params.contains("memory") && params.contains("memory_bytes")) {
    return bad("memory_bytes", params["memory_bytes"], "either 'memory' or 'memory_bytes', not both");
  }
  Parameters parsed;
  for (const auto& [name, value] : params.items()) HARENA_TRY_STATUS(set_one(name, value, parsed));
  return parsed;
}

}  // namespace harena::container
