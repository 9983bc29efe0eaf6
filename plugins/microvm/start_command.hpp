#pragma once
// The start command of a machine: a service that runs in it before anybody gets it, in a template once for all that start from there.

#include <functional>
#include <string>

#include "plugins/microvm/parameters.hpp"
#include "sdk/base/result.hpp"

namespace harena::microvm {

/// What the parameters say, as the user and in the folder that commands of the sandbox have.
StartSpec start_of(const json& request, const Parameters& parameters);
/// Starts it at the session endpoint, and repeats the ready command until that ends with 0. [blocking] deadline_exceeded after
/// start.ready_timeout_s, with what the ready command last ended with; failed_precondition (cause agent) when the start command has ended with
/// another code than 0 before. `check` is asked between two tries.
Status run_start_command(const std::string& endpoint, const StartSpec& start, const std::function<Status()>& check);
/// Runs the shell's `true` once: what the first command of a machine touches is in its memory afterwards. Failures mean nothing.
void run_nothing(const std::string& endpoint);

}  // namespace harena::microvm
