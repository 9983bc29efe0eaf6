#pragma once
// The plugin's end of a machine: starts its process, asks it for verbs (machine/control_server.hpp).

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plugins/microvm/machine/machine_config.hpp"
#include "sdk/base/result.hpp"
#include "sdk/support/process.hpp"

namespace harena::microvm {

using CheckCall = std::function<Status()>;

struct StartedMachine {
  ProcessRef process;
  json told;  // Machine::start
};

/// Writes the configuration beside the machine's files, starts harena-machine and waits until its guest is ready. `groups`: files of the
/// sandbox's cgroups into which a VMM writes "0"; `platform`: cgroup.procs of the machine's own. On failure the process has ended.
Result<StartedMachine> start_machine(const std::string& program, const MachineConfig& config, int platform, const std::vector<int>& groups,
                                     const CheckCall& check);

/// One verb. Waits for the answer: a verb that began can't be called off. unavailable when nobody listens; deadline_exceeded after
/// patience_ms (the machine goes on with it).
Result<json> ask_machine(const std::string& run_dir, const json& request, std::int64_t patience_ms);

}  // namespace harena::microvm
