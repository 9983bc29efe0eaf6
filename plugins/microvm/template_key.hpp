#pragma once
// What a template is a template of: two creates with the same key get machines that differ in nothing but who they are.

#include <string>

#include "plugins/microvm/machine/machine_config.hpp"
#include "plugins/microvm/parameters.hpp"

namespace harena::microvm {

/// 32 hexadecimal digits over everything that the memory of a machine which has booted depends on: layers by digest, sizes, environment and
/// limits, the start command with its user and folder, accelerator and CPU, and the files of kernel, initramfs and VMM (by size and time of
/// their last change: after an upgrade the old templates fit nobody).
std::string template_key(const MachineConfig& config, const StartSpec& start);

}  // namespace harena::microvm
