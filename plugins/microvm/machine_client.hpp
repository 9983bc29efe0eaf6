#pragma once
// The plugin's end of a machine: starts its process, asks it for verbs (machine/control_server.hpp).

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plugins/microvm/machine/machine_config.hpp"
#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/support/cgroup_tree.hpp"
#include "sdk/support/process.hpp"

namespace harena::microvm {

using CheckCall = std::function<Status()>;

struct StartedMachine {
  ProcessRef process;
  json told;  // Machine::start
  /// Of one that stands by: it ends when this is closed.
  UniqueFd lifeline;
};

/// Writes the configuration beside the machine's files, starts harena-machine and waits until its guest is ready. `groups`: files of the
/// sandbox's cgroups into which a VMM writes "0"; `platform`: cgroup.procs of the machine's own. On failure the process has ended.
Result<StartedMachine> start_machine(const std::string& program, const MachineConfig& config, int platform, const std::vector<int>& groups,
                                     const CheckCall& check);

/// What a machine that stands by reads at its claim: written to config.vm_dir.
Result<std::string> write_machine_config(const MachineConfig& config);

/// One verb. Waits for the answer: a verb that began can't be called off. unavailable when nobody listens; deadline_exceeded after
/// patience_ms (the machine goes on with it).
Result<json> ask_machine(const std::string& run_dir, const json& request, std::int64_t patience_ms);

/// Ends a machine's process, which takes its VMM along, also one that nobody here knows; then its group goes. Idempotent.
Status end_machine(const CgroupTree& cgroups, const std::string& id, const ProcessRef& known, std::int64_t deadline_ns);

}  // namespace harena::microvm
