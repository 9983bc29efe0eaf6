#pragma once
// Whether this host can run full machines, what it has for them, and the command that brings what is missing.

#include "plugins/qemu/settings.hpp"
#include "sdk/vmm/host_report.hpp"

namespace harena::qemu {

/// Programs and their versions, accelerator, firmware, limits, which kinds of snapshot there are. [blocking]
/// for a moment.
vmm::HostReport report_host(const Settings& settings, vmm::VersionCache& versions);

}  // namespace harena::qemu
