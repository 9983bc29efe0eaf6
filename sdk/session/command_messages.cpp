#include "sdk/session/command_messages.hpp"

#include <array>

namespace harena::session {

std::string_view to_string(ExitCause cause) {
  constexpr std::array<std::string_view, 11> kNames = {
      "exit", "signal", "timeout", "no_output_timeout", "oom", "pids",
      "disk", "output_limit", "sandbox_stopped", "platform", "killed"};
  auto index = static_cast<std::size_t>(cause);
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::string_view to_string(CommandState state) {
  switch (state) {
    case CommandState::starting: return "starting";
    case CommandState::running: return "running";
    case CommandState::exited: return "exited";
  }
  return "unknown";
}

}  // namespace harena::session
