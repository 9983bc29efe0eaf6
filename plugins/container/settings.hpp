#pragma once
// The operator's configuration of the plugin.

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/container/apparmor.hpp"
#include "plugins/container/sandbox_disks.hpp"
#include "plugins/container/weakening.hpp"
#include "sdk/base/result.hpp"

namespace harena::container {

using json = nlohmann::json;

/// JSON Schema of the configuration.
inline constexpr std::string_view kSettingsSchema = R"({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "instance": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,31}$", "default": "default",
                 "description": "name of this daemon's cgroups; each harenad of a machine needs its own"},
    "cgroup_parent": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "default": "harena",
                      "description": "cgroup below the root of each hierarchy"},
    "launcher_path": {"type": "string", "default": "", "description": "harena-container-launcher; empty: found beside the plugin or in libexec/harena"},
    "shim_path": {"type": "string", "default": "", "description": "harena-shim; empty: as launcher_path"},
    "tools_path": {"type": "string", "default": "",
                   "description": "folder of the trusted tools (static sh and its companions); empty: libexec/harena/tools or as launcher_path"},
    "layer_mount": {"type": "string", "enum": ["auto", "loop"], "default": "auto",
                    "description": "auto: EROFS images are mounted from the file where the kernel can (6.12), else through loop devices"},
    "id_base": {"type": "integer", "minimum": 65536, "maximum": 4294901760, "default": 1879048192,
                "description": "first user and group id of the sandboxes' ranges, a multiple of 65536"},
    "id_ranges": {"type": "integer", "minimum": 1, "maximum": 65534, "default": 4094,
                  "description": "how many ranges of 65536 ids; as many sandboxes can live at once"},
    "allow_missing_limits": {"type": "array", "items": {"type": "string", "enum": ["cpu", "cpu_idle", "cpuset", "memory",
                                                                   "memory_high", "swap", "pids",
                                                                   "io_weight", "io_bandwidth", "disk"]}, "default": [],
                             "description": "limits that sandboxes may lack where this host can't set them"},
    "apparmor": {"type": "string", "enum": ["auto", "required", "off"], "default": "auto",
                 "description": "the AppArmor profile of sandboxes; auto: where the kernel has AppArmor, required: no sandbox without"},
    "allow": {"type": "array", "items": {"type": "string"}, "default": [],
              "description": "options that weaken a sandbox and may be used here: host_mounts, capability:NAME; privileged, devices, nested_user_namespaces and docker aren't supported yet"},
    "host_mount_roots": {"type": "array", "default": [],
                         "items": {"type": ["string", "object"], "additionalProperties": false,
                                   "properties": {"path": {"type": "string"}, "writable": {"type": "boolean"}}},
                         "description": "folders of this machine below which a sandbox may have folders mounted, with allow: [host_mounts]; writable ones as {\"path\": ..., \"writable\": true}"},
    "disk": {"type": "string", "enum": ["image", "project-quota", "auto"], "default": "image",
             "description": "how the limit of a sandbox's disk is kept; image: in a file system of its own; project-quota: by a quota on the file system of the state folder (no snapshots and forks of such a sandbox); auto: by a quota where there are any"},
    "ready_disks": {"type": "integer", "minimum": 0, "maximum": 256, "default": 4,
                    "description": "disk images kept mounted in advance, of the sizes that were asked for last, for a minute; 0: none"},
    "lxcfs": {"type": "string", "enum": ["auto", "off"], "default": "auto",
              "description": "auto: /proc/meminfo, cpuinfo, stat, uptime and loadavg inside come from lxcfs where it runs"},
    "cpu_places": {"type": "string", "enum": ["auto", "off"], "default": "auto",
                   "description": "auto: a sandbox's threads start on as many CPUs as its cpu says, rounded up, those with the least promised, so that nproc and its like show the limit; off: on all, with the same limit of time"},
    "pool": {"type": "integer", "minimum": 0, "maximum": 256, "default": 4,
             "description": "sandboxes prepared in advance, so that a create only fills one; each holds a range of ids and less than an idle sandbox's memory; 0: none"},
    "pool_idle_s": {"type": "integer", "minimum": 1, "maximum": 86400, "default": 600,
                    "description": "after so many seconds without a create those that wait are ended; the next create makes its sandbox directly"},
    "idle_layers": {"type": "integer", "minimum": 0, "maximum": 4096, "default": 64,
                    "description": "image layers kept mounted without a sandbox that uses them"}
  }
})";

struct Settings {
  std::string instance;
  std::string cgroup_parent;
  std::string launcher_path;
  std::string shim_path;
  std::string tools_path;  // empty: there are none
  std::string layer_mount;
  std::uint32_t id_base = 0;
  std::uint32_t id_ranges = 0;
  std::set<std::string> allow_missing_limits;
  std::size_t idle_layers = 64;
  std::size_t pool = 0;
  std::int64_t pool_idle_s = 600;
  Allowances allowances;
  ApparmorMode apparmor = ApparmorMode::automatic;
  bool use_lxcfs = true;
  bool place_on_cpus = true;
  DiskMode disk = DiskMode::image;
  std::size_t ready_disks = 4;

  /// Programs that aren't configured are looked for beside the plugin, in BUILD/bin, and in libexec/harena.
  static Result<Settings> parse(const json& config);
};

/// Every limit that allow_missing_limits may name: those of cgroups, and "disk".
const std::vector<std::string>& limit_names();

}  // namespace harena::container
