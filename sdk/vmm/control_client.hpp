#pragma once
// The plugin's end of a machine's process: starts it, asks it for verbs (control_server.hpp).

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/support/process.hpp"

namespace harena::vmm {

using nlohmann::json;

/// ok, or why the caller gives up.
using CheckCall = std::function<Status()>;

struct StartedProcess {
  ProcessRef process;
  json told;
  /// Our end of descriptor 3: a process that keeps its own end can see when this is closed.
  UniqueFd lifeline;
};

/// Starts `program --config CONFIG` with descriptor 3 for its answer ({"ok": ...} or {"error": ...}, then a newline or the end) and `fds`
/// from 4 on (borrowed) and no others, and waits for the answer. On failure the process has ended.
Result<StartedProcess> start_machine_process(const std::string& program, const std::string& config, const std::vector<int>& fds,
                                             const CheckCall& check);

/// One verb, to the socket at `path`. Waits for the answer: a verb that began can't be called off. unavailable when nobody listens;
/// deadline_exceeded after patience_ms (the machine goes on with it).
Result<json> ask_machine_process(const std::string& path, const json& request, std::int64_t patience_ms);

}  // namespace harena::vmm
