// events

#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/words.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/client/client.hpp"
#include "sdk/client/wire.hpp"

namespace harena::cli {

using client::text_or;
using nlohmann::json;

namespace {

struct EventOptions {
  std::string type, project, sandbox;
};

Result<int> list_events(Program& program, const EventOptions& options) {
  HARENA_TRY(const auto client, program.connect());
  Table table({"AGE", "TYPE", "SANDBOX", "PROJECT", "BY", "DETAIL"});
  json found = json::array();
  const auto now_ms = SystemClock().wall_ms();
  const auto target = "/events" + client::query({{"type", options.type}, {"project", options.project}, {"sandbox", options.sandbox}});
  HARENA_TRY_STATUS(client->pages(target, "events", [&](const json& one) -> Status {
    found.push_back(one);
    table.add({age(one.value("time_ms", std::int64_t{0}), now_ms), text_or(one, "type"), text_or(one, "sandbox_id"),
               text_or(one, "project"), text_or(one, "principal"), text_or(one, "detail")});
    return {};
  }));
  HARENA_TRY_STATUS(program.options.json ? print_json(found) : table.print());
  return kExitOk;
}

}  // namespace

void add_events(Program& program) {
  auto options = std::make_shared<EventOptions>();
  auto* sub = program.command("events", "What was made weaker, and what reached a limit",
                              [&program, options] { return list_events(program, *options); });
  sub->add_option("--type", options->type, "sandbox_weakened or limit_reached; a list with commas");
  sub->add_option("--project", options->project, "Only of this project and below");
  sub->add_option("--sandbox", options->sandbox, "Only of this sandbox");
}

}  // namespace harena::cli
