#include "plugins/microvm/machine/qemu_jail.hpp"

#include <unistd.h>

#include <filesystem>

#include "plugins/microvm/machine/jail_names.hpp"

namespace harena::microvm {
namespace {

Status add_ram(vmm::JailSpec& jail, const VmmSpec& spec) {
  const bool frozen = spec.ram == RamMapping::own_copy;
  jail.files.push_back({spec.ram_path, kJailRam, !frozen});
  if (!frozen) return {};
  HARENA_TRY(const std::string guard, ram_guard_path());
  jail.files.push_back({guard, kJailGuard, false, true});
  jail.preload = kJailGuard;
  return {};
}

}  // namespace

Result<std::string> ram_guard_path() {
  std::error_code failed;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().string() + kJailGuard;
  if (!failed && ::access(path.c_str(), R_OK) == 0) return path;
  return make_error(ErrorCode::failed_precondition,
                    path + " isn't there: a frozen RAM file isn't given to QEMU without it; it is installed with harena-machine");
}

Result<vmm::JailSpec> qemu_jail(const VmmSpec& spec) {
  vmm::JailSpec jail{.root_dir = spec.jail_dir, .program = spec.program, .folders = vmm::qemu_folders(), .uid = spec.uid,
                     .group_files = spec.group_files};
  if (!spec.firmware_dir.empty()) jail.folders.push_back(spec.firmware_dir);
  if (spec.accelerator == Accelerator::kvm) jail.devices.push_back("kvm");
  HARENA_TRY_STATUS(add_ram(jail, spec));
  if (spec.incoming) return jail;
  jail.files.push_back({spec.kernel, kJailKernel});
  jail.files.push_back({spec.initramfs, kJailInitramfs});
  return jail;
}

}  // namespace harena::microvm
