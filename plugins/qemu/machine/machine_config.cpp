#include "plugins/qemu/machine/machine_config.hpp"

#include <algorithm>

namespace harena::qemu {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DiskConfig, image, qcow2, raw, size_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PluggedDevice, object, device, memory_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CloudInit, user_data, meta_data, network_config)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MachineConfig, sandbox, run_dir, vm_dir, qemu, qemu_img, iso_maker, kvm, cpu_model, cpus,
                                   max_cpus, memory_bytes, max_memory_bytes, plugged, asked_cpus, asked_memory_bytes, uefi, firmware_code, firmware_vars, disks,
                                       iso, kernel, initramfs,
                                   command_line, display, has_cloud_init, cloud_init, uid, restore_tag, restore_vmm, restore_folder)

int MachineConfig::all_cpus() const {
  return cpus + static_cast<int>(std::count_if(plugged.begin(), plugged.end(), [](const auto& one) { return one.memory_bytes == 0; }));
}

std::int64_t MachineConfig::all_memory_bytes() const {
  std::int64_t sum = memory_bytes;
  for (const auto& one : plugged) sum += one.memory_bytes;
  return sum;
}

std::string disk_file(const MachineConfig& config, std::size_t number) {
  return "disk" + std::to_string(number) + (config.disks[number].raw ? ".raw" : ".qcow2");
}

json MachineConfig::to_json() const { return json(*this); }

Result<MachineConfig> MachineConfig::parse(const std::string& text) {
  try {
    json document = json::parse(text);
    if (document.is_object()) {
      document.emplace("asked_cpus", 0);
      document.emplace("asked_memory_bytes", 0);
    }
    return document.get<MachineConfig>();
  } catch (const json::exception& e) {
    return make_error(ErrorCode::data_loss, std::string("a machine's configuration can't be read: ") + e.what());
  }
}

}  // namespace harena::qemu
