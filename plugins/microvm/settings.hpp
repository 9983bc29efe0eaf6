#pragma once
// The operator's configuration of the plugin.

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "plugins/microvm/machine/vmm.hpp"
#include "sdk/base/result.hpp"

namespace harena::microvm {

using json = nlohmann::json;

/// Users of VMMs: one for each machine that lives, from here on. Below the container plugin's ids, above what distributions give away.
inline constexpr std::uint32_t kDefaultUidBase = 0x6ff00000;
inline constexpr std::uint32_t kDefaultUids = 65536;
/// What a VMM uses beside the guest's RAM: QEMU itself, and under TCG the translated code (kTranslationMiB).
inline constexpr std::int64_t kDefaultOverheadMib = 192;

/// JSON Schema of the configuration.
inline constexpr std::string_view kSettingsSchema = R"({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "instance": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,31}$", "default": "default",
                 "description": "name of this daemon's cgroups; each harenad of a machine needs its own"},
    "cgroup_parent": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "default": "harena-vm",
                      "description": "cgroup below the root of each hierarchy; another than the container plugin's"},
    "machine_path": {"type": "string", "default": "", "description": "harena-machine; empty: found beside the plugin or in libexec/harena"},
    "vmm": {"type": "string", "enum": ["qemu", "firecracker"], "default": "qemu", "description": "the program that machines run under; firecracker needs KVM"},
    "firecracker_path": {"type": "string", "default": "",
                         "description": "Firecracker 1.8 or a newer 1.x, its name must contain 'firecracker'; empty: from /usr/bin or /usr/local/bin"},
    "jailer_path": {"type": "string", "default": "", "description": "the jailer of the same release; empty: from /usr/bin or /usr/local/bin"},
    "qemu_path": {"type": "string", "default": "", "description": "qemu-system-x86_64; empty: from /usr/bin or /usr/local/bin"},
    "firmware_dir": {"type": "string", "default": "", "description": "QEMU's data files (-L); empty: its own default"},
    "kernel": {"type": "string", "default": "", "description": "the guests' kernel, an uncompressed or bzImage Linux, for Firecracker an uncompressed one (vmlinux); empty: the newest /boot/vmlinuz-*-cloud-amd64, else /boot/vmlinuz-*"},
    "initramfs": {"type": "string", "default": "", "description": "the guests' initramfs with harena-guest and the kernel's modules, as harena-guest-image makes it; empty: guest.cpio.* beside harena-machine"},
    "accelerator": {"type": "string", "enum": ["auto", "kvm", "tcg"], "default": "auto",
                    "description": "auto: KVM where /dev/kvm opens and the CPU has vmx or svm, else QEMU's emulation"},
    "cpu_model": {"type": "string", "pattern": "^[A-Za-z0-9_.,+=-]{1,200}$", "default": "max",
                  "description": "the guests' CPU (-cpu); snapshots only start where it is the same"},
    "uid_base": {"type": "integer", "minimum": 1000, "maximum": 4294900000, "default": 1877999616, "description": "first user of the VMM processes"},
    "uids": {"type": "integer", "minimum": 1, "maximum": 1000000, "default": 65536, "description": "how many users; as many machines can live at once"},
    "overhead_mib": {"type": "integer", "minimum": 32, "maximum": 65536, "default": 192,
                     "description": "memory of a VMM beside the guest's, in its cgroup's limit"},
    "memory_dir": {"type": "string", "default": "", "description": "absolute path of a folder for RAM and disks of machines, and for templates (a fast disk, a tmpfs); empty: beside the sandboxes' own folders. Snapshots go to the state folder: on the same file system they cost nothing"},
    "templates": {"type": "string", "enum": ["auto", "off"], "default": "auto",
                  "description": "auto: a machine like one that has booted before starts from that one's memory; off: every machine boots"},
    "templates_most": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 16, "description": "templates that are kept; those used longest ago go"},
    "ahead": {"type": "integer", "minimum": 0, "maximum": 64, "default": 1,
              "description": "machines that stand by, loaded from the templates used last, for the next creates; each takes the memory of a VMM"},
    "ahead_idle_s": {"type": "integer", "minimum": 1, "maximum": 86400, "default": 300, "description": "after so long without a create those that stand by are given back"},
    "start_timeout_s": {"type": "integer", "minimum": 1, "maximum": 3600, "default": 120, "description": "how long a guest may take to boot"},
    "allow_missing_limits": {"type": "array", "items": {"type": "string", "enum": ["cpu", "memory", "pids"]}, "default": [],
                             "description": "limits that machines may lack where this host can't set them"}
  }
})";

using vmm::AcceleratorChoice;
using vmm::choose_accelerator;

struct Settings {
  std::string instance, cgroup_parent;
  std::string machine_path, qemu_path, firmware_dir, kernel, initramfs;  // empty: not found
  std::string vmm = "qemu";                                              // or "firecracker"
  std::string firecracker_path, jailer_path;
  std::string accelerator;
  std::string cpu_model;
  std::uint32_t uid_base = kDefaultUidBase;
  std::uint32_t uids = kDefaultUids;
  std::int64_t overhead_bytes = kDefaultOverheadMib << 20;
  std::int64_t start_timeout_ms = 120'000;
  std::string memory_dir;
  bool templates = true;
  std::size_t templates_most = 16;
  std::size_t ahead = 1;
  std::int64_t ahead_idle_s = 300;
  std::set<std::string> allow_missing_limits;

  const std::string& program() const { return vmm == "firecracker" ? firecracker_path : qemu_path; }
  /// invalid_argument names a value that can't be.
  static Result<Settings> parse(const json& config);
};

/// Whether the settings can make machines here: Firecracker needs KVM, and a kernel that it can read. failed_precondition says what is right.
Status check_vmm(const Settings& settings, const AcceleratorChoice& accelerator);

}  // namespace harena::microvm
