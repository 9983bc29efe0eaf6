#pragma once
// Whether this host can run microVMs, what it has for it, and the command that brings what is missing.

#include "plugins/microvm/settings.hpp"
#include "sdk/vmm/host_report.hpp"

namespace harena::microvm {

/// Accelerator, versions, kernel, initramfs, limits, which kinds of snapshot there are. [blocking] for a
/// moment.
vmm::HostReport report_host(const Settings& settings, vmm::VersionCache& versions);

}  // namespace harena::microvm
