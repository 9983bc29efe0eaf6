#pragma once
// Tells a clone's processes that they are one: the executables of its image in /etc/harena/clone.d
// (sdk/session/tunnel/clone_hooks.hpp), run as commands of its root, one after the other, before anybody
// else's command is.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "plugins/microvm/machine/machine_config.hpp"
#include "sdk/base/result.hpp"

namespace harena::microvm {

/// One hook, and all of them together: those that are left over then aren't run.
inline constexpr std::int64_t kHookPatienceMs = 5'000;
inline constexpr std::int64_t kHooksPatienceMs = 15'000;

/// `names`: what the guest's agent found (RenewAnswer::hooks); what can't be a hook's name is left out.
/// Returns an array of what became of each: {"name", "ms", and "exit_code" or "signal" or "error"}, and
/// "output" (its last 500 bytes, as UTF-8) of one that failed. [blocking] A hook that fails fails nothing, nor does a
/// guest that doesn't answer: it is waited for 5 s longer than for the hook. `check` is
/// asked before each: what it says ends it.
nlohmann::json run_clone_hooks(const std::string& endpoint, const MachineConfig& config, const nlohmann::json& names,
                               const std::function<Status()>& check);

/// What they get beside the environment of all commands.
std::vector<std::pair<std::string, std::string>> hook_environment(const MachineConfig& config);

/// "10-reseed: exit code 3"; of those that failed, for a log. Empty: none.
std::string failed_hooks(const nlohmann::json& results);

}  // namespace harena::microvm
