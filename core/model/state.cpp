#include "core/model/state.hpp"

#include <algorithm>
#include <string>

namespace harena {
namespace {

using S = SandboxState;

constexpr std::array<std::string_view, 8> kStateNames = {"creating", "running",  "pausing", "paused",
                                                         "resuming", "stopping", "stopped", "failed"};
constexpr std::array<std::string_view, 7> kVerbNames = {"use",      "pause", "resume",  "stop",
                                                        "snapshot", "fork",  "rollback"};

struct Arrow {
  SandboxState from, to;
};
constexpr Arrow kArrows[] = {
    {S::creating, S::running}, {S::creating, S::failed},  {S::creating, S::stopping},
    {S::running, S::pausing},  {S::running, S::stopping}, {S::running, S::failed},
    {S::pausing, S::paused},   {S::pausing, S::running},  {S::pausing, S::failed},   {S::pausing, S::stopping},
    {S::paused, S::resuming},  {S::paused, S::stopping},  {S::paused, S::failed},
    {S::resuming, S::running}, {S::resuming, S::paused},  {S::resuming, S::failed},  {S::resuming, S::stopping},
    {S::stopping, S::stopped}, {S::stopping, S::failed},
};

bool allowed(Verb verb, SandboxState state) {
  switch (verb) {
    case Verb::use: return state == S::running || state == S::paused || state == S::pausing || state == S::resuming;
    case Verb::pause: return state == S::running || state == S::paused || state == S::pausing;
    case Verb::resume: return state == S::running || state == S::paused || state == S::resuming;
    case Verb::stop: return true;
    case Verb::snapshot: case Verb::fork: return state == S::running || state == S::paused;
    case Verb::rollback: return state == S::running || state == S::paused;
  }
  return false;
}

}  // namespace

std::string_view to_string(SandboxState state) { return kStateNames[static_cast<std::size_t>(state)]; }
std::string_view to_string(Verb verb) { return kVerbNames[static_cast<std::size_t>(verb)]; }

std::optional<SandboxState> sandbox_state_from_string(std::string_view name) {
  for (std::size_t i = 0; i < kStateNames.size(); ++i) {
    if (kStateNames[i] == name) return static_cast<SandboxState>(i);
  }
  return std::nullopt;
}

bool can_move(SandboxState from, SandboxState to) {
  return std::any_of(std::begin(kArrows), std::end(kArrows),
                     [&](const Arrow& arrow) { return arrow.from == from && arrow.to == to; });
}

bool is_terminal(SandboxState state) { return state == S::stopped || state == S::failed; }

bool is_transient(SandboxState state) {
  return state == S::creating || state == S::pausing || state == S::resuming || state == S::stopping;
}

Status check_verb(Verb verb, SandboxState state) {
  if (allowed(verb, state)) return ok_status();
  return make_error(ErrorCode::failed_precondition,
                    "the sandbox is " + std::string(to_string(state)) + "; " + std::string(to_string(verb)) +
                        " needs one that is running or paused");
}

}  // namespace harena
