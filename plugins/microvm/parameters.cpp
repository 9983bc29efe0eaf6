#include "plugins/microvm/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "sdk/base/text.hpp"
#include "sdk/vmm/parameter_values.hpp"

namespace harena::microvm {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

constexpr const char* kSchema = R"({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "cpu": {"type": "number", "minimum": 0.05, "maximum": 64, "default": 1,
            "description": "cores, also parts of one; the machine has as many virtual CPUs, rounded up"},
    "memory": {"type": ["string", "integer"],
               "description": "RAM of the machine such as 512MiB, or bytes, rounded up to MiB; 128 MiB to 1 TiB, without it 512 MiB"},
    "memory_bytes": {"type": "integer", "minimum": 134217728, "maximum": 1099511627776, "description": "the same in bytes"},
    "disk": {"type": ["string", "integer"],
      "description": "size of the writable disk, 16 MiB to 8 TiB; without it 4 GiB. What isn't written takes no room"},
    "disk_bytes": {"type": "integer", "minimum": 16777216, "maximum": 8796093022208, "description": "the same in bytes"},
    "io_bps": {"type": ["string", "integer"],
      "description": "bytes a second that the machine's disks read and write, together; under Firecracker each disk"},
    "io_iops": {"type": "integer", "minimum": 1, "maximum": 4294967295, "description": "reads and writes a second, counted as io_bps"},
    "io_read_bps": {"type": ["string", "integer"], "description": "bytes a second read; not with io_bps, not under Firecracker"},
    "io_write_bps": {"type": ["string", "integer"], "description": "bytes a second written, as io_read_bps"},
    "io_read_iops": {"type": "integer", "minimum": 1, "maximum": 4294967295,
      "description": "reads a second; not with io_iops, not under Firecracker"},
    "io_write_iops": {"type": "integer", "minimum": 1, "maximum": 4294967295, "description": "writes a second, as io_read_iops"},
    "pids": {"type": "integer", "minimum": 4, "maximum": 4000000, "default": 4096, "description": "processes and threads in the sandbox"},
    "open_files": {"type": "integer", "minimum": 16, "maximum": 1048576,
      "description": "open files of one process; by default the guest kernel's"},
    "hostname": {"type": "string", "pattern": "^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$",
      "description": "default: the sandbox's id; a fork's own too"},
    "env": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}, "description": "environment of every command"},
    "network": {"type": "object", "properties": {"mode": {"type": "string"}}, "default": {"mode": "none"},
                "description": "only {\"mode\": \"none\"} (loopback) so far; everything else is refused"},
    "user": {"type": "string", "default": "", "description": "user of commands that name none; empty: the image's, else root"},
    "readonly_rootfs": {"type": "boolean", "default": false},
    "verify": {"type": "string", "enum": ["changed", "all"], "default": "changed", "x-once": true,
               "description": "of a create with 'snapshot', whose files are compared with their digests: those that aren't the ones that were hashed, or all"},
    "template": {"type": "string", "enum": ["auto", "make", "none"], "default": "auto",
                 "description": "auto: starts from the memory of a machine like it that has booted before, if there is one; make: makes that first if need be; none: boots"},
    "start_command": {"type": "string", "default": "",
      "description": "a service that runs before create answers, by the sandbox's shell as 'user'; in a template it runs already"},
    "ready_command": {"type": "string", "default": "",
      "description": "repeated until it ends with 0, before create answers; needs start_command"},
    "ready_timeout_s": {"type": "integer", "minimum": 1, "maximum": 3600, "default": 60,
      "description": "how long start_command may take to be ready"},
    "gpu": {"type": ["integer", "string", "array"], "description": "not supported: refused"},
    "devices": {"type": "array", "items": {"type": "string"}, "default": [], "description": "not supported: refused"},
    "mounts": {"type": "array", "default": [], "description": "not supported: refused; a machine shares no folder with its host"},
    "privileged": {"type": "boolean", "default": false, "description": "not supported: refused"}
  }
})";

bool is_host_label(const std::string& text) {
  const auto inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' && std::all_of(text.begin(), text.end(), inner);
}

Status set_env(const json& value, Parameters& out) {
  if (!value.is_object()) return vmm::bad_parameter("env", value, "an object of texts");
  for (const auto& [name, text] : value.items()) {
    if (!text.is_string()) return vmm::bad_parameter("env." + name, text, "a text");
    auto content = text.get<std::string>();
    const bool wrong = name.empty() || name.find_first_of(std::string("=\0", 2)) != std::string::npos ||
        content.find('\0') != std::string::npos;
    if (wrong) return vmm::bad_parameter("env." + name, text, "a name without '=' and a value without NUL");
    out.env[name] = std::move(content);
  }
  return {};
}

Status check_network(const json& value) {
  if (!value.is_object()) return vmm::bad_parameter("network", value, "{\"mode\": \"none\"}");
  for (const auto& [key, setting] : value.items()) {
    if (key == "mode" && setting == "none") continue;
    return make_error(ErrorCode::unimplemented, "parameter 'network." + key + "' is " + vmm::shown(setting) +
                                                    ": this backend can't open the network yet; {\"mode\": \"none\"} is right");
  }
  return {};
}

/// Known options that this backend hasn't got: what means "none of it" passes.
Status refuse(const std::string& name, const json& value) {
  const bool nothing = value.is_null() || value == false || value == 0 || (value.is_array() && value.empty());
  if (nothing) return {};
  return make_error(ErrorCode::unimplemented, "parameter '" + name + "' is " + vmm::shown(value) +
      ": a microVM can't have this yet; leave it out");
}

struct IoLimit {
  const char* name;
  std::int64_t DiskLimits::* field;
  bool is_size;
};
constexpr IoLimit kIoLimits[] = {
    {"io_bps", &DiskLimits::bps, true},          {"io_iops", &DiskLimits::iops, false},
    {"io_read_bps", &DiskLimits::read_bps, true}, {"io_write_bps", &DiskLimits::write_bps, true},
    {"io_read_iops", &DiskLimits::read_iops, false}, {"io_write_iops", &DiskLimits::write_iops, false},
};

const IoLimit* find_io_limit(const std::string& name) {
  const auto* found = std::find_if(std::begin(kIoLimits), std::end(kIoLimits), [&](const IoLimit& limit) { return name == limit.name; });
  return found == std::end(kIoLimits) ? nullptr : found;
}

/// A limit of both together leaves nothing for one of one alone.
Status check_io_limits(const json& params) {
  for (const std::string kind : {"bps", "iops"}) {
    for (const std::string& one : {"io_read_" + kind, "io_write_" + kind}) {
      if (params.contains("io_" + kind) && params.contains(one)) {
        return vmm::bad_parameter(one, params[one], "either '" + one + "' or 'io_" + kind + "', not both");
      }
    }
  }
  return {};
}

Status set_io_limit(const IoLimit& limit, const json& value, Parameters& out) {
  if (!limit.is_size) {
    HARENA_TRY(out.disk_limits.*limit.field, vmm::integer_value(limit.name, value, 1, kMaxIops));
    return {};
  }
  const Error wrong = vmm::bad_parameter(limit.name, value, "bytes a second such as \"20MiB\", from " + std::to_string(kMinBps) +
      " to " + std::to_string(kMaxBps));
  auto bytes = value.is_string() ? parse_size(value.get<std::string>()) : vmm::integer_value(limit.name, value, kMinBps, kMaxBps);
  if (!bytes.ok() || *bytes < kMinBps || *bytes > kMaxBps) return wrong;
  out.disk_limits.*limit.field = *bytes;
  return {};
}

Status set_text(const std::string& name, const json& value, Parameters& out) {
  if (!value.is_string()) return vmm::bad_parameter(name, value, "a text");
  const auto text = value.get<std::string>();
  if (name == "hostname") {
    if (!is_host_label(text)) return vmm::bad_parameter(name, value, "1 to 63 letters, digits and inner dashes");
    out.hostname = text;
    return {};
  }
  if (text.find('\0') != std::string::npos) return vmm::bad_parameter(name, value, "a text without NUL");
  if (name == "start_command") out.start.command = text;
  if (name == "ready_command") out.start.ready = text;
  if (name == "user") out.user = text;
  return {};
}

Status set_template(const json& value, Parameters& out) {
  static const std::map<std::string, TemplateUse> kUses = {{"auto", TemplateUse::automatic}, {"make", TemplateUse::make}, {"none",
      TemplateUse::none}};
  const auto found = value.is_string() ? kUses.find(value.get<std::string>()) : kUses.end();
  if (found == kUses.end()) return vmm::bad_parameter("template", value, "\"auto\", \"make\" or \"none\"");
  out.templates = found->second;
  return {};
}

Status set_verify(const json& value, Parameters& out) {
  if (value != "changed" && value != "all") return vmm::bad_parameter("verify", value, "\"changed\" or \"all\"");
  out.verify_all = value == "all";
  return {};
}

Status set_one(const std::string& name, const json& value, Parameters& out) {
  if (name == "cpu") {
    const bool fits = value.is_number() && value.get<double>() >= kMinCpu && value.get<double>() <= kMaxCpu;
    if (!fits) return vmm::bad_parameter(name, value, "a number of cores from 0.05 to 64");
    out.cpu_millicores = std::llround(value.get<double>() * 1000);
  } else if (name == "memory" || name == "memory_bytes") {
    HARENA_TRY(out.memory_bytes, vmm::size_value(name, value, kMinMemoryBytes, kMaxMemoryBytes));
  } else if (name == "disk" || name == "disk_bytes") {
    HARENA_TRY(out.disk_bytes, vmm::size_value(name, value, kMinDiskBytes, kMaxDiskBytes));
  } else if (name == "pids") {
    HARENA_TRY(out.pids, vmm::integer_value(name, value, 4, 4'000'000));
  } else if (name == "open_files") {
    HARENA_TRY(out.open_files, vmm::integer_value(name, value, 16, 1 << 20));
  } else if (const IoLimit* limit = find_io_limit(name)) {
    return set_io_limit(*limit, value, out);
  } else if (name == "hostname" || name == "user" || name == "start_command" || name == "ready_command") {
    return set_text(name, value, out);
  } else if (name == "ready_timeout_s") {
    HARENA_TRY(out.start.ready_timeout_s, vmm::integer_value(name, value, 1, 3600));
  } else if (name == "template") {
    return set_template(value, out);
  } else if (name == "verify") {
    return set_verify(value, out);
  } else if (name == "env") {
    return set_env(value, out);
  } else if (name == "network") {
    return check_network(value);
  } else if (name == "readonly_rootfs") {
    if (!value.is_boolean()) return vmm::bad_parameter(name, value, "true or false");
    out.readonly_rootfs = value.get<bool>();
  } else if (name == "gpu" || name == "devices" || name == "mounts" || name == "privileged") {
    return refuse(name, value);
  } else {
    std::vector<std::string> known;
    for (const auto& [key, unused] : parameters_schema()["properties"].items()) known.push_back(key);
    return make_error(ErrorCode::invalid_argument, "unknown parameter '" + name + "'" + suggestion(name, known));
  }
  return {};
}

}  // namespace

const json& parameters_schema() {
  static const json kParsed = json::parse(kSchema);
  return kParsed;
}

Result<Parameters> parse_parameters(const json& params) {
  if (!params.is_object()) return vmm::bad_parameter("params", params, "an object");
  for (const char* name : {"memory", "disk"}) {
    const std::string bytes = std::string(name) + "_bytes";
    if (params.contains(name) && params.contains(bytes)) {
      return vmm::bad_parameter(bytes, params[bytes], "either '" + std::string(name) + "' or '" + bytes + "', not both");
    }
  }
  HARENA_TRY_STATUS(check_io_limits(params));
  Parameters parsed;
  for (const auto& [name, value] : params.items()) HARENA_TRY_STATUS(set_one(name, value, parsed));
  if (parsed.start.command.empty() && !parsed.start.ready.empty()) {
    return vmm::bad_parameter("ready_command", parsed.start.ready, "none without 'start_command'");
  }
  return parsed;
}

}  // namespace harena::microvm
