#include "plugins/container/sandbox_plan.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <cstdlib>
#include <map>
#include <set>

#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

std::map<std::string, std::string> environment_of(const json& request, const Parameters& parameters) {
  std::map<std::string, std::string> env = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, {"HOME", "/root"}, {"LANG", "C.UTF-8"}};
  const json config = request.value("image_config", json::object());
  for (const auto& variable : config.value("env", std::vector<std::string>{})) {
    const std::size_t equals = variable.find('=');
    if (equals != std::string::npos && equals != 0) env[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  for (const auto& [name, value] : request.value("env", std::map<std::string, std::string>{})) env[name] = value;
  for (const auto& [name, value] : parameters.env) env[name] = value;
  return env;
}

}  // namespace

/// The hard limit that this process can give to another: without CAP_SYS_RESOURCE its own.
rlim_t highest(__rlimit_resource_t resource, bool may_raise) {
  rlimit own{};
  return may_raise || ::getrlimit(resource, &own) != 0 ? RLIM_INFINITY : own.rlim_max;
}

bool may_raise_limits() {
  constexpr unsigned kSysResource = 24;
  auto status = read_file_at(AT_FDCWD, "/proc/self/status");
  const std::size_t line = status.ok() ? status->find("CapEff:\t") : std::string::npos;
  if (line == std::string::npos) return false;
  return (std::strtoull(status->c_str() + line + 8, nullptr, 16) >> kSysResource & 1) != 0;
}

Result<std::vector<std::string>> rlimits_of(const Parameters& parameters) {
  struct Wanted {
    const char* parameter;
    const char* name;
    __rlimit_resource_t resource;
    std::int64_t value;
  };
  const bool may_raise = may_raise_limits();
  const auto files = highest(RLIMIT_NOFILE, may_raise);
  const std::int64_t open_files = parameters.open_files != 0 ? parameters.open_files
                                  : files < kDefaultOpenFiles ? static_cast<std::int64_t>(files) : kDefaultOpenFiles;
  std::vector<std::string> limits;
  for (const auto& wanted : {Wanted{"open_files", "nofile", RLIMIT_NOFILE, open_files},
                             Wanted{"core_size", "core", RLIMIT_CORE, parameters.core_bytes},
                             Wanted{"file_size", "fsize", RLIMIT_FSIZE, parameters.file_bytes}}) {
    if (wanted.value < 0) continue;
    const auto most = highest(wanted.resource, may_raise);
    if (static_cast<rlim_t>(wanted.value) > most) {
      return infrastructure_error(ErrorCode::failed_precondition, "rlimit",
                                  std::string("the limit '") + wanted.parameter + "' can't be set on this host: harenad has no more than " +
                                      std::to_string(most) + " itself and may not raise it (no CAP_SYS_RESOURCE)");
    }
    limits.push_back(std::string(wanted.name) + "=" + std::to_string(wanted.value));
  }
  return limits;
}

std::string image_user(const json& request) { return request.value("image_config", json::object()).value("user", ""); }

Result<std::vector<LayerImage>> layers_of(const json& request) {
  std::vector<LayerImage> layers;
  std::set<std::string> seen;
  for (const auto& layer : request.value("layers", json::array())) {
    if (layer.value("format", "erofs") != "erofs") {
      return make_error(ErrorCode::invalid_argument, "layer " + layer.at("digest").dump() + " has format " + layer["format"].dump() + "; the container backend mounts \"erofs\"");
    }
    LayerImage image{layer.at("digest").get<std::string>(), layer.at("path").get<std::string>()};
    if (seen.insert(image.digest).second) layers.push_back(std::move(image));
  }
  if (layers.empty()) return make_error(ErrorCode::invalid_argument, "a container needs an image of at least one layer");
  return layers;
}

SandboxRequest launcher_request(const std::string& id, const json& request, const Parameters& parameters, const Granted& granted,
                                const std::vector<LayerImage>& layers,
                                std::uint32_t first_id) {
  SandboxRequest wanted;
  wanted.id = id;
  wanted.first_id = first_id;
  wanted.state_dir = request.at("state_dir").get<std::string>();
  for (const auto& layer : layers) wanted.layers.push_back(layer.digest);
  wanted.hostname = parameters.hostname.empty() ? id : parameters.hostname;
  wanted.shm_bytes = parameters.shm_bytes;
  for (const auto& [path, bytes] : parameters.tmpfs) wanted.tmpfs.push_back(path + "=" + std::to_string(bytes));
  wanted.readonly_rootfs = parameters.readonly_rootfs;
  wanted.capabilities = default_capabilities() | granted.capabilities;
  for (const auto& mount : parameters.weakening.mounts) wanted.mount_targets.push_back(mount.target);
  for (const auto& [name, value] : environment_of(request, parameters)) wanted.environment.push_back(name + "=" + value);
  return wanted;
}

CgroupLimits limits_of(const Parameters& parameters) {
  CgroupLimits limits;
  limits.cpu_millicores = parameters.cpu_millicores;
  limits.cpu_weight = parameters.cpu_weight != 0 ? parameters.cpu_weight : cpu_weight_for(parameters.cpu_millicores);
  limits.cpu_idle = parameters.cpu_idle;
  limits.cpuset = parameters.cpuset;
  limits.memory_high_bytes = parameters.memory_high_bytes;
  limits.swap_bytes = parameters.swap_bytes;
  limits.io_weight = parameters.io_weight;
  limits.io.read_bps = parameters.io_read_bps;
  limits.io.write_bps = parameters.io_write_bps;
  limits.io.read_iops = parameters.io_read_iops;
  limits.io.write_iops = parameters.io_write_iops;
  limits.memory_bytes = parameters.memory_bytes;
  limits.pids = parameters.pids + kOwnPids;
  return limits;
}

}  // namespace harena::container
