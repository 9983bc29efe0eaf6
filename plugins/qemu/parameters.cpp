#include "plugins/qemu/parameters.hpp"

#include <cmath>

#include "plugins/qemu/disk_image.hpp"
#include "sdk/base/text.hpp"
#include "sdk/vmm/parameter_values.hpp"

namespace harena::qemu {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kDefaultMemoryBytes = 1024 * kMiB;
constexpr std::int64_t kMinMemoryBytes = 64 * kMiB;
constexpr std::int64_t kMaxMemoryBytes = 1LL << 40;
constexpr std::int64_t kMinDiskBytes = kMiB;
constexpr std::int64_t kMaxDiskBytes = 8LL << 40;
constexpr std::size_t kMaxDisks = 8;
constexpr std::size_t kMaxSeedBytes = 64 << 10;

constexpr const char* kSchema = R"({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "cpu": {"type": "number", "minimum": 0.05, "maximum": 64, "default": 1,
      "description": "cores, also parts of one; as many virtual CPUs, rounded up"},
    "memory": {"type": ["string", "integer"], "description": "RAM such as 2GiB, or bytes; 64 MiB to 1 TiB, without it 1 GiB"},
    "cpu_max": {"type": "integer", "minimum": 1, "maximum": 64,
      "description": "the most that `cpu` may become while the machine runs; without it as many as at its start"},
    "memory_max": {"type": ["string", "integer"],
      "description": "the most that `memory` may become while the machine runs, in steps of 128 MiB; without it as much as at its start"},
    "memory_bytes": {"type": "integer", "minimum": 67108864, "maximum": 1099511627776, "description": "the same in bytes"},
    "firmware": {"type": "string", "enum": ["bios", "uefi"], "default": "bios"},
    "disks": {"type": "array", "minItems": 1, "maxItems": 8,
      "description": "the first one is booted; the images stay as they are, changes go into the machine's own files",
      "items": {"type": "object", "additionalProperties": false, "properties": {
        "image": {"type": "string", "description": "path below the operator's disk_roots; without it an empty disk of `size`"},
        "format": {"type": "string", "enum": ["qcow2", "raw"], "default": "qcow2",
          "description": "of the image, or of an empty disk; a machine with an empty raw disk has no snapshots"},
        "size": {"type": ["string", "integer"], "description": "at least the image's; without it the image's"}}}},
    "iso": {"type": "string", "description": "a CD-ROM, booted first; path below disk_roots"},
    "kernel": {"type": "string", "description": "booted instead of what is on the disk; path below disk_roots"},
    "initramfs": {"type": "string", "description": "with kernel; path below disk_roots"},
    "command_line": {"type": "string", "maxLength": 2000, "description": "with kernel"},
    "display": {"type": "boolean", "default": true, "description": "virtio-gpu, USB tablet, VNC"},
    "cloud_init": {"type": "object", "additionalProperties": false, "description": "a NoCloud seed", "properties": {
      "user_data": {"type": "string", "maxLength": 65536}, "meta_data": {"type": "string", "maxLength": 65536},
      "network_config": {"type": "string", "maxLength": 65536}}},
    "network": {"type": "object", "properties": {"mode": {"type": "string"}}, "default": {"mode": "none"},
                "description": "only {\"mode\": \"none\"} so far; everything else is refused"}
  }
})";

Result<std::string> text(const std::string& name, const json& value, std::size_t most) {
  const bool good = value.is_string() && value.get_ref<const std::string&>().size() <= most &&
      value.get_ref<const std::string&>().find('\0') == std::string::npos;
  if (!good) return vmm::bad_parameter(name, value, "a text of at most " + std::to_string(most) + " bytes without NUL");
  return value.get<std::string>();
}

class Reader {
 public:
  Reader(const std::vector<std::string>& roots, MachineConfig& config, std::int64_t& cpu, bool& uefi) : roots_(roots),
      config_(config), cpu_(cpu), uefi_(uefi) {}
  Status one(const std::string& name, const json& value);
  Status disk(const std::string& name, const json& value);

 private:
  Result<std::string> path(const std::string& name, const json& value) const {
    HARENA_TRY(const std::string given, text(name, value, 4096));
    return file_below(name, given, roots_);
  }
  Status disks(const json& value);
  Status cloud_init(const json& value);
  Status cpu(const json& value);

  const std::vector<std::string>& roots_;
  MachineConfig& config_;
  std::int64_t& cpu_;
  bool& uefi_;
};

Status Reader::cpu(const json& value) {
  const bool fits = value.is_number() && value.get<double>() >= 0.05 && value.get<double>() <= 64;
  if (!fits) return vmm::bad_parameter("cpu", value, "a number of cores from 0.05 to 64");
  cpu_ = std::llround(value.get<double>() * 1000);
  config_.cpus = static_cast<int>((cpu_ + 999) / 1000);
  return {};
}

Status Reader::disk(const std::string& name, const json& value) {
  if (!value.is_object()) return vmm::bad_parameter(name, value, "{\"image\": ..., \"format\": ..., \"size\": ...}");
  for (const auto& [key, unused] : value.items()) {
    if (key != "image" && key != "format" && key != "size") {
      return vmm::bad_parameter(name, value, "an object of image, format and size; '" + key + "' is unknown");
    }
  }
  const json format = value.value("format", json("qcow2"));
  if (format != "qcow2" && format != "raw") return vmm::bad_parameter(name + ".format", format, "\"qcow2\" or \"raw\"");
  DiskConfig made;
  made.qcow2 = format == "qcow2";
  made.raw = format == "raw" && !value.contains("image");
  if (value.contains("image")) {
    HARENA_TRY(made.image, path(name + ".image", value["image"]));
    HARENA_TRY(made.size_bytes, image_size(made.image, format.get<std::string>()));
  }
  if (value.contains("size")) {
    HARENA_TRY(made.size_bytes, vmm::size_value(name + ".size", value["size"], std::max(made.size_bytes, kMinDiskBytes), kMaxDiskBytes));
  }
  if (made.size_bytes == 0) return vmm::bad_parameter(name, value, "one with an image, a size, or both");
  config_.disks.push_back(std::move(made));
  return {};
}

Status Reader::disks(const json& value) {
  if (!value.is_array() || value.empty() || value.size() > kMaxDisks) {
    return vmm::bad_parameter("disks", value, "a list of 1 to " + std::to_string(kMaxDisks) + " disks");
  }
  for (std::size_t i = 0; i < value.size(); ++i) HARENA_TRY_STATUS(disk("disks[" + std::to_string(i) + "]", value[i]));
  return {};
}

Status Reader::cloud_init(const json& value) {
  if (!value.is_object()) return vmm::bad_parameter("cloud_init", value, "an object of user_data, meta_data and network_config");
  config_.has_cloud_init = true;
  for (const auto& [key, content] : value.items()) {
    std::string* const into = key == "user_data"        ? &config_.cloud_init.user_data
                              : key == "meta_data"      ? &config_.cloud_init.meta_data
                              : key == "network_config" ? &config_.cloud_init.network_config
                                                        : nullptr;
    if (into == nullptr) return vmm::bad_parameter("cloud_init." + key, content, "user_data, meta_data or network_config");
    HARENA_TRY(*into, text("cloud_init." + key, content, kMaxSeedBytes));
  }
  return {};
}

Status Reader::one(const std::string& name, const json& value) {
  if (name == "cpu") return cpu(value);
  if (name == "disks") return disks(value);
  if (name == "cloud_init") return cloud_init(value);
  if (name == "memory" || name == "memory_bytes") {
    HARENA_TRY(config_.memory_bytes, vmm::size_value(name, value, kMinMemoryBytes, kMaxMemoryBytes));
  } else if (name == "memory_max") {
    HARENA_TRY(config_.max_memory_bytes, vmm::size_value(name, value, kMinMemoryBytes, kMaxMemoryBytes));
  } else if (name == "cpu_max") {
    const bool fits = value.is_number_integer() && value >= 1 && value <= 64;
    if (!fits) return vmm::bad_parameter(name, value, "a whole number of CPUs from 1 to 64");
    config_.max_cpus = value.get<int>();
  } else if (name == "firmware") {
    if (value != "bios" && value != "uefi") return vmm::bad_parameter(name, value, "\"bios\" or \"uefi\"");
    uefi_ = value == "uefi";
  } else if (name == "iso") {
    HARENA_TRY(config_.iso, path(name, value));
  } else if (name == "kernel") {
    HARENA_TRY(config_.kernel, path(name, value));
  } else if (name == "initramfs") {
    HARENA_TRY(config_.initramfs, path(name, value));
  } else if (name == "command_line") {
    HARENA_TRY(config_.command_line, text(name, value, 2000));
  } else if (name == "display") {
    if (!value.is_boolean()) return vmm::bad_parameter(name, value, "true or false");
    config_.display = value.get<bool>();
  } else if (name == "network") {
    if (value != json{{"mode", "none"}}) {
      return make_error(ErrorCode::unimplemented, "parameter 'network' is " + vmm::shown(value) +
          ": this backend can't open the network yet; {\"mode\": \"none\"} is right");
    }
  } else {
    std::vector<std::string> known;
    for (const auto& [key, unused] : parameters_schema()["properties"].items()) known.push_back(key);
    return make_error(ErrorCode::invalid_argument, "unknown parameter '" + name + "'" + suggestion(name, known));
  }
  return {};
}

/// Without one it is what there is at the start.
Status settle_maxima(const json& params, MachineConfig& config) {
  if (config.max_cpus == 0) config.max_cpus = config.cpus;
  if (config.max_memory_bytes == 0) config.max_memory_bytes = config.memory_bytes;
  if (config.max_cpus < config.cpus) {
    return vmm::bad_parameter("cpu_max", params["cpu_max"], "at least 'cpu', " + std::to_string(config.cpus));
  }
  const std::int64_t more = config.max_memory_bytes - config.memory_bytes;
  if (more < 0 || more % kMemoryStepBytes != 0) {
    return vmm::bad_parameter("memory_max", params["memory_max"], "'memory', " + std::to_string(config.memory_bytes) +
        " bytes, and a multiple of 128 MiB beside it");
  }
  return {};
}

}  // namespace

const json& parameters_schema() {
  static const json kParsed = json::parse(kSchema);
  return kParsed;
}

Status apply_parameters(const json& params, const std::vector<std::string>& roots, MachineConfig& config,
    std::int64_t& cpu_millicores, bool& uefi) {
  if (!params.is_object()) return vmm::bad_parameter("params", params, "an object");
  if (params.contains("memory") && params.contains("memory_bytes")) {
    return vmm::bad_parameter("memory_bytes", params["memory_bytes"], "either 'memory' or 'memory_bytes', not both");
  }
  cpu_millicores = 1000;
  uefi = false;
  config.memory_bytes = kDefaultMemoryBytes;
  config.max_cpus = 0;
  Reader reader(roots, config, cpu_millicores, uefi);
  for (const auto& [name, value] : params.items()) HARENA_TRY_STATUS(reader.one(name, value));
  HARENA_TRY_STATUS(settle_maxima(params, config));
  if (config.kernel.empty() && !(config.initramfs.empty() && config.command_line.empty())) {
    return make_error(ErrorCode::invalid_argument, "'initramfs' and 'command_line' are for a 'kernel', which is missing");
  }
  if (config.disks.empty()) {
    return make_error(ErrorCode::invalid_argument,
        "parameter 'disks' is missing; a list of 1 to 8 disks is right, such as [{\"size\": \"4GiB\"}]");
  }
  return {};
}

Status check_only_size_changes(const json& before, const json& after) {
  for (const json* one : {&before, &after}) {
    for (const auto& [name, unused] : one->items()) {
      const bool size = name == "cpu" || name == "memory" || name == "memory_bytes";
      if (size || before.value(name, json()) == after.value(name, json())) continue;
      if (!parameters_schema()["properties"].contains(name)) {
        return vmm::bad_parameter(name, after.value(name, json()), "no parameter of this backend");
      }
      return vmm::bad_parameter(name, after.value(name, json()), before.value(name, json()).dump() +
          ": it can't change while the machine lives; cpu and memory can");
    }
  }
  return {};
}

Result<MachineSize> read_size(const json& params) {
  MachineConfig config;
  MachineSize found;
  bool unused = false;
  config.memory_bytes = kDefaultMemoryBytes;
  const std::vector<std::string> no_roots;
  Reader reader(no_roots, config, found.cpu_millicores, unused);
  for (const char* name : {"cpu", "memory", "memory_bytes"}) {
    if (params.contains(name)) HARENA_TRY_STATUS(reader.one(name, params[name]));
  }
  found.cpus = config.cpus;
  found.memory_bytes = config.memory_bytes;
  return found;
}

}  // namespace harena::qemu
