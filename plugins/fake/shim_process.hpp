#pragma once
// A real harena-shim in host mode for one sandbox of the fake: commands run on this host without any isolation, so that
// tests of the core need no container.

#include <string>

#include "sdk/cpp/plugin.hpp"

namespace harena::fake {

using plugin::Call;
using plugin::json;

/// Starts `shim` and waits until it listens. Returns {"pid", "start_time", "endpoint"} for the sandbox's entry. `mark`
/// is in its environment: a host that is killed before it has written the entry leaves a shim that only this names.
/// Errors: failed_precondition when there is no such program, deadline_exceeded, cancelled; nothing stays then.
Result<json> start_shim(const Call& call, const std::string& shim, const std::string& run_dir, const std::string& sandbox_id,
                        const std::string& mark);

/// Ends every process that was started with `mark`, by force.
void end_marked(const std::string& mark);

/// True while the process of the entry runs (the same one: its start time is compared, as pids come again).
bool shim_runs(const json& session);

/// Ends it: politely, then after `grace_ms` by force. Fine when it isn't there.
void stop_shim(const json& session, std::int64_t grace_ms);

}  // namespace harena::fake
