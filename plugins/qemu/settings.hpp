#pragma once
// The operator's configuration of the plugin.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::qemu {

using json = nlohmann::json;

/// JSON Schema of the configuration.
inline constexpr std::string_view kSettingsSchema = R"({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "instance": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,31}$", "default": "default",
                 "description": "name of this daemon's cgroups; each harenad of a machine needs its own"},
    "cgroup_parent": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "default": "harena-qemu",
                      "description": "cgroup below the root of each hierarchy; another than the other plugins'"},
    "disk_roots": {"type": "array", "items": {"type": "string", "pattern": "^/"}, "default": ["/var/lib/harena/disks"],
                   "description": "folders below which disk images, ISOs and kernels may be; paths of create are refused elsewhere"},
    "machine_path": {"type": "string", "default": "",
      "description": "harena-qemu-machine; empty: found beside the plugin or in libexec/harena"},
    "qemu_path": {"type": "string", "default": "/usr/bin/qemu-system-x86_64"},
    "qemu_img_path": {"type": "string", "default": "/usr/bin/qemu-img"},
    "iso_maker_path": {"type": "string", "default": "/usr/bin/genisoimage", "description": "makes the cloud-init seed"},
    "uefi_code": {"type": "string", "default": "/usr/share/OVMF/OVMF_CODE_4M.fd", "description": "UEFI's flash"},
    "uefi_vars": {"type": "string", "default": "/usr/share/OVMF/OVMF_VARS_4M.fd", "description": "template of a machine's UEFI variables"},
    "accelerator": {"type": "string", "enum": ["auto", "kvm", "tcg"], "default": "auto",
                    "description": "auto: KVM where /dev/kvm opens and the CPU has vmx or svm, else QEMU's emulation"},
    "cpu_model": {"type": "string", "pattern": "^[A-Za-z0-9_.,+=-]{1,200}$", "default": "max",
      "description": "the guests' CPU, as -cpu of QEMU"},
    "uid_base": {"type": "integer", "minimum": 1000, "maximum": 4294900000, "default": 1877934080,
      "description": "first user of the QEMU processes"},
    "uids": {"type": "integer", "minimum": 1, "maximum": 65536, "default": 65536,
      "description": "how many users; as many machines can live at once"},
    "overhead_mib": {"type": "integer", "minimum": 64, "maximum": 65536, "default": 384,
                     "description": "memory of QEMU beside the guest's, in its cgroup's limit"}
  }
})";

struct Settings {
  std::string instance, cgroup_parent;
  std::vector<std::string> disk_roots;
  std::string machine_path, qemu_path, qemu_img_path, iso_maker_path, uefi_code, uefi_vars;
  std::string accelerator, cpu_model;
  std::uint32_t uid_base = 0, uids = 0;
  std::int64_t overhead_bytes = 0;

  static Result<Settings> parse(const json& config);
};

}  // namespace harena::qemu
