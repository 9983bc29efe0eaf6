#pragma once
// Variables for a sandbox that runs already: a ready one whose create has `envVars`.
//
// Commands of E2B's get them with each start, from the record (Extras::env). The kernels of a code interpreter run before, and are told. What
// the template's start command is doesn't get them, as it has none of them in E2B's snapshots either.

#include <map>
#include <string>

#include "plugins/e2b/services.hpp"
#include "sdk/http/task.hpp"

namespace harena::e2b {

using Environment = std::map<std::string, std::string>;

/// Names that every shell and kernel takes, and values without a zero. Of others a new sandbox judges, by its backend's own rules.
bool fits_running(const Environment& env);

/// Gives `env` to the code interpreter in a sandbox, if one is there. False: there is something that doesn't take them, or not in 5 s; then
/// the sandbox isn't what the create asked for. Doing it again changes nothing.
http::Task<bool> tell_interpreter(Services& services, std::string key, std::string id, const Environment& env);

}  // namespace harena::e2b
