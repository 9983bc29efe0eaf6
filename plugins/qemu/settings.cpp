#include "plugins/qemu/settings.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "sdk/base/unique_fd.hpp"

namespace harena::qemu {
namespace {

std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// PREFIX/lib/harena/plugins/qemu/libX.so has PREFIX/libexec/harena; BUILD/plugins/qemu/libX.so has BUILD/bin.
std::string find_machine() {
  const std::string folder = own_folder(), name = "harena-qemu-machine";
  for (const std::string& path : {folder + "/../../bin/" + name, folder + "/../../../../libexec/harena/" + name,
                                  "/usr/local/libexec/harena/" + name, "/usr/libexec/harena/" + name}) {
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

bool cpu_virtualises() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("flags")) return (line + " ").find(" vmx ") != std::string::npos || (line + " ").find(" svm ") != std::string::npos;
  }
  return false;
}

}  // namespace

Result<AcceleratorChoice> choose_accelerator(const std::string& wanted) {
  if (wanted == "tcg") return AcceleratorChoice{false, "configured"};
  UniqueFd device(::open("/dev/kvm", O_RDWR | O_CLOEXEC));
  // A /dev/kvm without the CPU's flag is a paravirtual one, on which a stock kernel doesn't get through its boot.
  const std::string why = !device ? "/dev/kvm can't be opened" : !cpu_virtualises() ? "the CPU has neither vmx nor svm" : "";
  if (why.empty()) return AcceleratorChoice{true, "/dev/kvm and the CPU have it"};
  if (wanted == "kvm") return make_error(ErrorCode::failed_precondition, "accelerator 'kvm': " + why + "; 'auto' or 'tcg' work here, slower");
  return AcceleratorChoice{false, why};
}

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
