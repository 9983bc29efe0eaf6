#include "plugins/microvm/machine/qemu_jail.hpp"

#include "plugins/microvm/machine/qemu_arguments.hpp"

namespace harena::microvm {

vmm::JailSpec qemu_jail(const VmmSpec& spec) {
  vmm::JailSpec jail{.root_dir = spec.jail_dir, .program = spec.program, .folders = vmm::qemu_folders(), .uid = spec.uid,
                     .group_files = spec.group_files};
  if (!spec.firmware_dir.empty()) jail.folders.push_back(spec.firmware_dir);
  if (spec.accelerator == Accelerator::kvm) jail.devices.push_back("kvm");
  jail.files.push_back({spec.ram_path, kJailRam, true});
  if (spec.incoming) return jail;
  jail.files.push_back({spec.kernel, kJailKernel});
  jail.files.push_back({spec.initramfs, kJailInitramfs});
  return jail;
}

}  // namespace harena::microvm
