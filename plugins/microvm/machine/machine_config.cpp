#include "plugins/microvm/machine/machine_config.hpp"

namespace harena::microvm {
namespace {

json limits_to_json(const DiskLimits& limits) {
  return {limits.bps, limits.iops, limits.read_bps, limits.write_bps, limits.read_iops, limits.write_iops};
}

DiskLimits limits_from_json(const json& list) {
  const auto at = [&](std::size_t index) { return list.at(index).get<std::int64_t>(); };
  return {at(0), at(1), at(2), at(3), at(4), at(5)};
}

}  // namespace

json MachineConfig::to_json() const {
  json list = json::array();
  for (const auto& layer : layers) list.push_back({{"digest", layer.digest}, {"path", layer.path}});
  return {{"sandbox", sandbox}, {"run_dir", run_dir}, {"vm_dir", vm_dir}, {"from", from}, {"tied", tied}, {"standby", standby}, {"paused", paused}, {"vmm", vmm}, {"program", program}, {"jailer", jailer},
          {"firmware_dir", firmware_dir},
          {"kernel", kernel}, {"initramfs", initramfs}, {"kvm", accelerator == Accelerator::kvm}, {"cpu_model", cpu_model},
          {"tsc_khz", tsc_khz}, {"cpus", cpus}, {"ram_bytes", ram_bytes}, {"disk_bytes", disk_bytes}, {"layers", list}, {"uid", uid}, {"groups", groups},
          {"hostname", hostname}, {"machine_id", machine_id}, {"env", env}, {"pids", pids}, {"rlimits", rlimits},
          {"readonly_root", readonly_root}, {"start_timeout_ms", start_timeout_ms}, {"disk_limits", limits_to_json(disk_limits)}};
}

Result<MachineConfig> MachineConfig::parse(const std::string& text) {
  try {
    const json from = json::parse(text);
    MachineConfig config;
    from.at("sandbox").get_to(config.sandbox);
    from.at("run_dir").get_to(config.run_dir);
    from.at("vm_dir").get_to(config.vm_dir);
    from.at("from").get_to(config.from);
    config.tied = from.value("tied", false);
    from.at("standby").get_to(config.standby);
    config.paused = from.value("paused", false);
    from.at("vmm").get_to(config.vmm);
    from.at("program").get_to(config.program);
    from.at("jailer").get_to(config.jailer);
    from.at("firmware_dir").get_to(config.firmware_dir);
    from.at("kernel").get_to(config.kernel);
    from.at("initramfs").get_to(config.initramfs);
    config.accelerator = from.at("kvm").get<bool>() ? Accelerator::kvm : Accelerator::tcg;
    from.at("cpu_model").get_to(config.cpu_model);
    from.at("tsc_khz").get_to(config.tsc_khz);
    from.at("cpus").get_to(config.cpus);
    from.at("ram_bytes").get_to(config.ram_bytes);
    from.at("disk_bytes").get_to(config.disk_bytes);
    config.disk_limits = limits_from_json(from.at("disk_limits"));
    for (const auto& layer : from.at("layers")) {
      config.layers.push_back({layer.at("digest").get<std::string>(), layer.at("path").get<std::string>()});
    }
    from.at("uid").get_to(config.uid);
    from.at("groups").get_to(config.groups);
    from.at("hostname").get_to(config.hostname);
    from.at("machine_id").get_to(config.machine_id);
    from.at("env").get_to(config.env);
    from.at("pids").get_to(config.pids);
    from.at("rlimits").get_to(config.rlimits);
    from.at("readonly_root").get_to(config.readonly_root);
    from.at("start_timeout_ms").get_to(config.start_timeout_ms);
    return config;
  } catch (const json::exception& e) {
    return make_error(ErrorCode::data_loss, std::string("a machine's configuration can't be read: ") + e.what());
  }
}

}  // namespace harena::microvm
