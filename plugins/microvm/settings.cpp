#include "plugins/microvm/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "sdk/support/own_files.hpp"

namespace harena::microvm {
namespace {

namespace fs = std::filesystem;

std::string first_that_opens(const std::vector<std::string>& candidates, int mode) {
  for (const auto& candidate : candidates) {
    if (::access(candidate.c_str(), mode) == 0) return candidate;
  }
  return {};
}

std::string find_own(const std::string& name, int mode) {
  return find_own_file(reinterpret_cast<const void*>(&find_own), name, mode);
}

/// The last by name of those that begin and end so: kernels are named by their versions.
std::string newest(const std::string& folder, const std::string& begin, const std::string& end) {
  std::string best;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(begin) && name.ends_with(end) && entry.path().string() > best) best = entry.path().string();
  }
  return best;
}

/// What the jailer and Firecracker refuse by themselves is said at the start of the daemon, not of the first machine.
Status check_firecracker_settings(const Settings& settings) {
  if (settings.vmm != "firecracker") return {};
  const std::string name = settings.firecracker_path.substr(settings.firecracker_path.rfind('/') + 1);
  if (!settings.firecracker_path.empty() && name.find("firecracker") == std::string::npos) {
    return make_error(ErrorCode::invalid_argument, "firecracker_path '" + settings.firecracker_path + "': the jailer takes programs whose name contains 'firecracker'");
  }
  if (settings.accelerator == "tcg") {
    return make_error(ErrorCode::invalid_argument, "accelerator 'tcg' with vmm 'firecracker': Firecracker has KVM alone; 'auto' or 'kvm' are right");
  }
  return {};
}

}  // namespace

Result<Settings> Settings::parse(const json& config) {
  Settings settings;
  settings.instance = config.value("instance", "default");
  settings.cgroup_parent = config.value("cgroup_parent", "harena-vm");
  settings.machine_path = config.value("machine_path", "");
  settings.qemu_path = config.value("qemu_path", "");
  settings.vmm = config.value("vmm", "qemu");
  settings.firecracker_path = config.value("firecracker_path", "");
  settings.jailer_path = config.value("jailer_path", "");
  settings.firmware_dir = config.value("firmware_dir", "");
  settings.kernel = config.value("kernel", "");
  settings.initramfs = config.value("initramfs", "");
  settings.accelerator = config.value("accelerator", "auto");
  settings.cpu_model = config.value("cpu_model", "max");
  settings.uid_base = config.value("uid_base", kDefaultUidBase);
  settings.uids = config.value("uids", kDefaultUids);
  settings.overhead_bytes = config.value("overhead_mib", kDefaultOverheadMib) << 20;
  settings.start_timeout_ms = config.value("start_timeout_s", std::int64_t{120}) * 1000;
  settings.memory_dir = config.value("memory_dir", "");
  if (!settings.memory_dir.empty() && settings.memory_dir.front() != '/') {
    return make_error(ErrorCode::invalid_argument, "memory_dir '" + settings.memory_dir + "': an absolute path is right");
  }
  settings.templates = config.value("templates", "auto") == "auto";
  settings.templates_most = config.value("templates_most", std::size_t{16});
  settings.ahead = config.value("ahead", std::size_t{1});
  // Who stands by is moved to its sandbox's groups by its process: Firecracker's is below a keeper.
  if (settings.vmm == "firecracker" && config.value("ahead", 0) > 0) {
    return make_error(ErrorCode::invalid_argument, "ahead is " + config["ahead"].dump() + ": no machine stands by under Firecracker; 0 is right");
  }
  if (settings.vmm == "firecracker") settings.ahead = 0;
  settings.ahead_idle_s = config.value("ahead_idle_s", std::int64_t{300});
  for (const auto& limit : config.value("allow_missing_limits", std::vector<std::string>{})) settings.allow_missing_limits.insert(limit);
  if (settings.machine_path.empty()) settings.machine_path = find_own("harena-machine", X_OK);
  if (settings.qemu_path.empty()) settings.qemu_path = first_that_opens({"/usr/bin/qemu-system-x86_64", "/usr/local/bin/qemu-system-x86_64"}, X_OK);
  if (settings.firecracker_path.empty()) settings.firecracker_path = first_that_opens({"/usr/bin/firecracker", "/usr/local/bin/firecracker"}, X_OK);
  if (settings.jailer_path.empty()) settings.jailer_path = first_that_opens({"/usr/bin/jailer", "/usr/local/bin/jailer"}, X_OK);
  if (settings.kernel.empty()) settings.kernel = newest("/boot", "vmlinuz-", "-cloud-amd64");
  if (settings.kernel.empty()) settings.kernel = newest("/boot", "vmlinuz-", "");
  if (settings.initramfs.empty()) settings.initramfs = find_own("guest.cpio", R_OK);
  HARENA_TRY_STATUS(check_firecracker_settings(settings));
  return settings;
}

Status check_vmm(const Settings& settings, const AcceleratorChoice& accelerator) {
  if (settings.vmm != "firecracker") return {};
  if (accelerator.accelerator != Accelerator::kvm) {
    return make_error(ErrorCode::failed_precondition, "vmm 'firecracker' needs KVM: " + accelerator.why + "; vmm 'qemu' works here");
  }
  std::ifstream file(settings.kernel, std::ios::binary);
  char magic[4] = {};
  if (file.read(magic, sizeof magic) && std::string_view(magic, 4) == "\177ELF") return {};
  return make_error(ErrorCode::failed_precondition, "kernel '" + settings.kernel + "' isn't an ELF file: Firecracker boots an uncompressed vmlinux "
                                                    "(deploy/guest-kernel makes one)");
}

}  // namespace harena::microvm
