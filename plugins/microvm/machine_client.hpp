#pragma once
// The plugin's end of a machine: its configuration, its process (sdk/vmm/control_client.hpp), its verbs.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plugins/microvm/machine/machine_config.hpp"
#include "sdk/base/result.hpp"
#include "sdk/vmm/control_client.hpp"

namespace harena::microvm {

using vmm::CheckCall;
/// `told`: what Machine::start says. A machine that stands by ends when the lifeline is closed.
using StartedMachine = vmm::StartedProcess;

/// Writes the configuration beside the machine's files, starts harena-machine and waits until its guest is ready. `groups`: files of the
/// sandbox's cgroups into which a VMM writes "0"; `platform`: cgroup.procs of the machine's own. On failure the process has ended.
Result<StartedMachine> start_machine(const std::string& program, const MachineConfig& config, int platform, const std::vector<int>& groups,
                                     const CheckCall& check);

/// What a machine that stands by reads at its claim: written to config.vm_dir.
Result<std::string> write_machine_config(const MachineConfig& config);

/// One verb (vmm::ask_machine_process).
Result<json> ask_machine(const std::string& run_dir, const json& request, std::int64_t patience_ms);

}  // namespace harena::microvm
