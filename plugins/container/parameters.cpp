#include "plugins/container/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "sdk/base/text.hpp"

namespace harena::container {
namespace {

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

/// A parameter that is a number within bounds, or a size.
struct Amount {
  const char* name;
  std::int64_t Parameters::* target;
  std::int64_t min;
  std::int64_t max;
  bool is_size;
};
constexpr Amount kAmounts[] = {
    {"cpu_weight", &Parameters::cpu_weight, 1, 10000, false},
    {"memory", &Parameters::memory_bytes, kMinMemoryBytes, kMaxMemoryBytes, true},
    {"memory_bytes", &Parameters::memory_bytes, kMinMemoryBytes, kMaxMemoryBytes, true},
    {"memory_high", &Parameters::memory_high_bytes, kMinMemoryBytes, kMaxMemoryBytes, true},
    {"swap", &Parameters::swap_bytes, 0, kMaxMemoryBytes, true},
    {"pids", &Parameters::pids, kMinPids, kMaxPids, false},
    {"disk", &Parameters::disk_bytes, kMinDiskBytes, kMaxDiskBytes, true},
    {"disk_bytes", &Parameters::disk_bytes, kMinDiskBytes, kMaxDiskBytes, true},
    {"inodes", &Parameters::inodes, kMinInodes, kMaxInodes, false},
    {"io_weight", &Parameters::io_weight, 1, 10000, false},
    {"io_read_bps", &Parameters::io_read_bps, 4096, INT64_MAX, true},
    {"io_write_bps", &Parameters::io_write_bps, 4096, INT64_MAX, true},
    {"io_read_iops", &Parameters::io_read_iops, 1, UINT32_MAX, false},
    {"io_write_iops", &Parameters::io_write_iops, 1, UINT32_MAX, false},
    {"open_files", &Parameters::open_files, 16, kMaxOpenFiles, false},
    {"core_size", &Parameters::core_bytes, 0, kMaxDiskBytes, true},
    {"file_size", &Parameters::file_bytes, 0, kMaxDiskBytes, true},
    {"shm", &Parameters::shm_bytes, 4096, kMaxMemoryBytes, true},
};

const Amount* find_amount(const std::string& name) {
  const auto* found = std::find_if(std::begin(kAmounts), std::end(kAmounts), [&](const Amount& amount) { return name == amount.name; });
  return found == std::end(kAmounts) ? nullptr : found;
}

/// "0-1,3": numbers and rising ranges.
bool is_cpu_list(const std::string& text) {
  if (text.empty()) return false;
  for (const auto& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    auto first = parse_int(part.substr(0, dash), 0, 8191, "cpu");
    auto last = dash == std::string::npos ? first : parse_int(part.substr(dash + 1), 0, 8191, "cpu");
    if (!first.ok() || !last.ok() || *last < *first) return false;
  }
  return true;
}

Status set_one(const std::string& name, const json& value, Parameters& out) {
  if (is_weakening(name)) return parse_weakening(name, value, out.weakening);
  if (name == "cpu") {
    HARENA_TRY(double cores, number(name, value, kMinCpu, kMaxCpu, "a number of cores from 0.01 to 1024"));
    out.cpu_millicores = std::llround(cores * 1000);
    return {};
  }
  if (const auto* amount = find_amount(name)) {
    const auto read = amount->is_size ? size : integer;
    HARENA_TRY(out.*(amount->target), read(name, value, amount->min, amount->max));
  } else if (name == "cpuset") {
    if (!value.is_string() || !is_cpu_list(value.get<std::string>())) return bad(name, value, "a list of CPUs such as \"0-1,3\"");
    out.cpuset = value.get<std::string>();
  } else if (name == "cpu_idle") {
    if (!value.is_boolean()) return bad(name, value, "true or false");
    out.cpu_idle = value.get<bool>();
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

/// What is right one by one and wrong together.
Status check_together(const json& params, const Parameters& parsed) {
  if (parsed.memory_high_bytes > parsed.memory_bytes) {
    return bad("memory_high", params["memory_high"], "at most 'memory', " + std::to_string(parsed.memory_bytes));
  }
  if (parsed.inodes != 0 && parsed.disk_bytes == 0) {
    return bad("inodes", params["inodes"], "a number beside 'disk': without a size of its own a sandbox shares the host's inodes");
  }
  if (parsed.cpu_idle && parsed.cpu_weight != Parameters().cpu_weight) {
    return bad("cpu_weight", params["cpu_weight"], "nothing beside \"cpu_idle\": true, whose weight is the lowest");
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

Result<Parameters> parse_parameters(const json& params) {
  if (!params.is_object()) return bad("params", params, "an object");
  if (params.contains("memory") && params.contains("memory_bytes")) {
    return bad("memory_bytes", params["memory_bytes"], "either 'memory' or 'memory_bytes', not both");
  }
  if (params.contains("disk") && params.contains("disk_bytes")) {
    return bad("disk_bytes", params["disk_bytes"], "either 'disk' or 'disk_bytes', not both");
  }
  Parameters parsed;
  for (const auto& [name, value] : params.items()) HARENA_TRY_STATUS(set_one(name, value, parsed));
  HARENA_TRY_STATUS(check_together(params, parsed));
  return parsed;
}

}  // namespace harena::container
