#include "plugins/microvm/probe.hpp"

#include <unistd.h>

namespace harena::microvm {
namespace {

void look_at_vmm(const Settings& settings, vmm::VersionCache& versions, vmm::HostReport& report) {
  const bool firecracker = settings.vmm == "firecracker";
  const bool there = firecracker ? vmm::report_file(report, "firecracker", settings.firecracker_path, X_OK,
                                                    "install a release of github.com/firecracker-microvm/firecracker, or set firecracker_path")
                                 : vmm::report_file(report, "qemu", settings.qemu_path, X_OK, "apt-get install qemu-system-x86");
  if (there) vmm::report_vmm(report, settings.vmm, settings.program(), versions);
  if (firecracker) vmm::report_file(report, "jailer", settings.jailer_path, X_OK, "it is in Firecracker's releases; or set jailer_path");
}

void look_at_files(const Settings& settings, vmm::HostReport& report) {
  vmm::report_file(report, "machine", settings.machine_path, X_OK,
                   "it is installed with Harena (libexec/harena/harena-machine); else set machine_path");
  vmm::report_file(report, "kernel", settings.kernel, R_OK,
                   "apt-get install linux-image-cloud-amd64, or deploy/microvm.sh, or set kernel to another vmlinuz");
  vmm::report_file(report, "initramfs", settings.initramfs, R_OK,
                   "run deploy/microvm.sh, or harena-guest-image and set initramfs");
  const bool usr = ::access("/usr/sbin/mke2fs", X_OK) == 0;
  vmm::report_file(report, "mke2fs", usr ? "/usr/sbin/mke2fs" : "/sbin/mke2fs", X_OK, "apt-get install e2fsprogs");
}

void look_at_accelerator(const Settings& settings, vmm::HostReport& report) {
  const auto choice = vmm::report_accelerator(report, settings.accelerator, "microVMs");
  if (!choice.ok()) return;
  if (Status fits = check_vmm(settings, *choice); !fits.ok()) {
    report.error("vmm.fits", fits.error().message, "no machine starts so", "mend it in plugins.microvm.config of harena.json");
  }
}

/// What captures keep, and what they cost: the kinds of docs/microvm.md.
void look_at_snapshots(const Settings& settings, vmm::HostReport& report) {
  const bool firecracker = settings.vmm == "firecracker";
  report.label("snapshots", "memory");
  report.fact("snapshot_memory", firecracker ? "copied" : "shared");
  report.ok("snapshots", firecracker ? "snapshots, forks and pauses keep memory; it is copied, by FICLONE where the disk can"
                                     : "snapshots, forks and pauses keep memory; it is shared until it is written");
}

}  // namespace

vmm::HostReport report_host(const Settings& settings, vmm::VersionCache& versions) {
  vmm::HostReport report("microvm");
  vmm::report_root(report);
  look_at_vmm(settings, versions, report);
  look_at_files(settings, report);
  look_at_accelerator(settings, report);
  vmm::report_limits(report, settings.allow_missing_limits);
  look_at_snapshots(settings, report);
  return report;
}

}  // namespace harena::microvm
