#include "plugins/qemu/machine/machine_config.hpp"

namespace harena::qemu {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DiskConfig, image, qcow2, size_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CloudInit, user_data, meta_data, network_config)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MachineConfig, sandbox, run_dir, vm_dir, qemu, qemu_img, iso_maker, kvm, cpu_model, cpus,
                                   memory_bytes, firmware_code, firmware_vars, disks, iso, kernel, initramfs,
                                   command_line, display, has_cloud_init, cloud_init, uid)

json MachineConfig::to_json() const { return json(*this); }

Result<MachineConfig> MachineConfig::parse(const std::string& text) {
  try {
    return json::parse(text).get<MachineConfig>();
  } catch (const json::exception& e) {
    return make_error(ErrorCode::data_loss, std::string("a machine's configuration can't be read: ") + e.what());
  }
}

}  // namespace harena::qemu
