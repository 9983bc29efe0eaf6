#include "plugins/e2b/envd/process/process_select.hpp"

#include <tuple>

#include "plugins/e2b/envd/process/process_event.hpp"
#include "sdk/base/clock.hpp"

namespace harena::e2b {

using nlohmann::json;

namespace {

bool matches(const json& command, const process::ProcessSelector& selector) {
  if (selector.has_pid()) return selector.pid() != 0 && command.value("pid", std::int64_t{0}) == selector.pid();
  return tag_of(command) == selector.tag();
}

bool running(const json& command) { return command.value("state", "") == "running"; }

bool acceptable(const json& command, Wanted wanted, std::int64_t now_ms) {
  if (running(command)) return true;
  if (wanted == Wanted::running) return false;
  const auto exit = command.value("exit", json::object());
  return exit.value("exited_ms", std::int64_t{0}) + kEndRetentionMs >= now_ms;
}

auto rank(const json& command) { return std::tuple(running(command), command.value("started_ms", std::int64_t{0})); }

std::string name_of(const process::ProcessSelector& selector) {
  if (selector.has_pid()) return "process with pid " + std::to_string(selector.pid()) + " not found";
  return "process with tag " + selector.tag() + " not found";
}

}  // namespace

Result<json> select_command(const json& commands, const process::ProcessSelector& selector, Wanted wanted, std::int64_t now_ms) {
  if (selector.selector_case() == process::ProcessSelector::SELECTOR_NOT_SET) {
    return make_error(ErrorCode::invalid_argument, "process names neither a pid nor a tag");
  }
  const json* best = nullptr;
  for (const auto& command : commands) {
    if (!matches(command, selector) || !acceptable(command, wanted, now_ms)) continue;
    if (best == nullptr || rank(command) > rank(*best)) best = &command;
  }
  if (best == nullptr) return make_error(ErrorCode::not_found, name_of(selector));
  return *best;
}

http::Task<Result<json>> find_command(EnvdCall& call, process::ProcessSelector selector, Wanted wanted) {
  HARENA_CO_TRY(const auto answer, co_await call.api.ask("GET", call.target("/commands")));
  const auto commands = answer.value("commands", json::array());
  co_return select_command(commands, selector, wanted, SystemClock().wall_ms());
}

}  // namespace harena::e2b
