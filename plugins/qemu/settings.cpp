#include "plugins/qemu/settings.hpp"

#include <unistd.h>

#include "sdk/support/own_files.hpp"

namespace harena::qemu {
namespace {

std::string find_machine() { return find_own_file(reinterpret_cast<const void*>(&find_machine), "harena-qemu-machine", X_OK); }

}  // namespace

Result<Settings> Settings::parse(const json& config) {
  Settings settings;
  settings.instance = config.value("instance", "default");
  settings.cgroup_parent = config.value("cgroup_parent", "harena-qemu");
  settings.disk_roots = config.value("disk_roots", std::vector<std::string>{"/var/lib/harena/disks"});
  settings.machine_path = config.value("machine_path", "");
  settings.qemu_path = config.value("qemu_path", "/usr/bin/qemu-system-x86_64");
  settings.qemu_img_path = config.value("qemu_img_path", "/usr/bin/qemu-img");
  settings.iso_maker_path = config.value("iso_maker_path", "/usr/bin/genisoimage");
  settings.uefi_code = config.value("uefi_code", "/usr/share/OVMF/OVMF_CODE_4M.fd");
  settings.uefi_vars = config.value("uefi_vars", "/usr/share/OVMF/OVMF_VARS_4M.fd");
  settings.accelerator = config.value("accelerator", "auto");
  settings.cpu_model = config.value("cpu_model", "max");
  settings.uid_base = config.value("uid_base", 1877934080U);
  settings.uids = config.value("uids", 65536U);
  settings.overhead_bytes = config.value("overhead_mib", std::int64_t{384}) << 20;
  if (settings.machine_path.empty()) settings.machine_path = find_machine();
  return settings;
}

}  // namespace harena::qemu
