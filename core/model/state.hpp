#pragma once
// The state table: which state follows which, and which verb is allowed where. Pure.

#include <array>
#include <optional>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena {

enum class SandboxState { creating, running, pausing, paused, resuming, stopping, stopped, failed };
std::string_view to_string(SandboxState state);
std::optional<SandboxState> sandbox_state_from_string(std::string_view name);

/// What a caller may ask of a sandbox.
enum class Verb { use, pause, resume, stop, snapshot, fork, rollback };
std::string_view to_string(Verb verb);

/// True when the state table has an arrow from `from` to `to`.
bool can_move(SandboxState from, SandboxState to);

/// Nothing of the sandbox exists any more: `stopped` and `failed`.
bool is_terminal(SandboxState state);
/// Between two stable states; a restart finds it half-made and recovery decides.
bool is_transient(SandboxState state);

/// ok when `verb` may begin in `state`; else failed_precondition which names the state and what would be right.
/// `use` (commands, files, ports) is allowed in paused too: the caller resumes first.
Status check_verb(Verb verb, SandboxState state);

}  // namespace harena
