#include "plugins/container/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "sdk/base/text.hpp"
#include "sdk/support/cgroup_limits.hpp"
#include "sdk/support/id_range.hpp"
#include "sdk/support/own_files.hpp"

namespace harena::container {

namespace {

std::string find_program(const std::string& name) {
  return find_own_file(reinterpret_cast<const void*>(&find_program), name, X_OK);
}

}  // namespace

const std::vector<std::string>& limit_names() {
  static const std::vector<std::string> kNames = [] {
    auto names = cgroup_limit_names();
    names.push_back("disk");
    return names;
  }();
  return kNames;
}

Result<Settings> Settings::parse(const json& config) {
  Settings settings;
  settings.instance = config.value("instance", "default");
  settings.cgroup_parent = config.value("cgroup_parent", "harena");
  settings.launcher_path = config.value("launcher_path", "");
  settings.shim_path = config.value("shim_path", "");
  settings.tools_path = config.value("tools_path", "");
  settings.layer_mount = config.value("layer_mount", "auto");
  const auto base = config.value("id_base", std::uint64_t{kDefaultIdBase});
  const auto ranges = config.value("id_ranges", std::uint64_t{kDefaultIdRanges});
  HARENA_TRY_STATUS(IdRangePool::check(base, ranges));
  settings.id_base = static_cast<std::uint32_t>(base);
  settings.id_ranges = static_cast<std::uint32_t>(ranges);
  settings.idle_layers = config.value("idle_layers", std::size_t{64});
  settings.pool = config.value("pool", std::size_t{4});
  settings.pool_idle_s = config.value("pool_idle_s", settings.pool_idle_s);
  HARENA_TRY(settings.apparmor, apparmor_mode(config.value("apparmor", "auto")));
  HARENA_TRY(settings.allowances, Allowances::parse(config));
  HARENA_TRY(settings.disk, disk_mode(config.value("disk", "image")));
  settings.ready_disks = config.value("ready_disks", std::size_t{4});
  settings.place_on_cpus = config.value("cpu_places", "auto") == "auto";
  settings.use_lxcfs = config.value("lxcfs", "auto") == "auto";
  for (const auto& limit : config.value("allow_missing_limits", std::vector<std::string>{})) {
    const auto& known = limit_names();
    if (std::find(known.begin(), known.end(), limit) == known.end()) {
      return make_error(ErrorCode::invalid_argument, "allow_missing_limits: no limit '" + limit + "'" + suggestion(limit, known));
    }
    settings.allow_missing_limits.insert(limit);
  }
  if (settings.launcher_path.empty()) settings.launcher_path = find_program("harena-container-launcher");
  if (settings.shim_path.empty()) settings.shim_path = find_program("harena-shim");
  if (settings.tools_path.empty()) settings.tools_path = find_program("tools");
  return settings;
}

}  // namespace harena::container
