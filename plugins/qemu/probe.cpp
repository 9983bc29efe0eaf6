#include "plugins/qemu/probe.hpp"

#include <unistd.h>

namespace harena::qemu {
namespace {

void look_at_programs(const Settings& settings, vmm::HostReport& report) {
  vmm::report_file(report, "qemu_img", settings.qemu_img_path, X_OK, "apt-get install qemu-utils");
  vmm::report_file(report, "iso_maker", settings.iso_maker_path, X_OK, "apt-get install genisoimage");
  vmm::report_file(report, "machine", settings.machine_path, X_OK,
                   "it is installed with Harena (libexec/harena/harena-qemu-machine); else set machine_path");
}

void look_at_firmware(const Settings& settings, vmm::HostReport& report) {
  const bool uefi = ::access(settings.uefi_code.c_str(), R_OK) == 0 && ::access(settings.uefi_vars.c_str(), R_OK) == 0;
  report.fact("firmware", uefi ? nlohmann::json{"bios", "uefi"} : nlohmann::json{"bios"});
  report.label("firmware", uefi ? "bios,uefi" : "bios");
  if (uefi) report.ok("firmware", "machines boot with BIOS or UEFI");
  else report.warning("firmware", "machines boot with BIOS alone", "UEFI isn't there: " + settings.uefi_code, "apt-get install ovmf");
}

}  // namespace

vmm::HostReport report_host(const Settings& settings, vmm::VersionCache& versions) {
  vmm::HostReport report("qemu");
  vmm::report_root(report);
  if (vmm::report_file(report, "qemu", settings.qemu_path, X_OK, "apt-get install qemu-system-x86")) {
    vmm::report_vmm(report, "qemu", settings.qemu_path, versions);
  }
  look_at_programs(settings, report);
  (void)vmm::report_accelerator(report, settings.accelerator, "full machines");
  look_at_firmware(settings, report);
  vmm::report_limits(report, {});
  report.label("snapshots", "memory");
  report.ok("snapshots", "snapshots, forks and pauses keep memory; snapshots lie in the machine's qcow2 disks");
  return report;
}

}  // namespace harena::qemu
