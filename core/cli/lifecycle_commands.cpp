// create, ls, inspect, pause, resume, stop

#include <chrono>

#include "core/cli/create_options.hpp"
#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/words.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/client/sandboxes.hpp"

namespace harena::cli {

using client::SandboxInfo;
using client::Sandboxes;
using nlohmann::json;

namespace {

struct ListOptions {
  client::SandboxFilter filter;
  bool quiet = false;
  bool all = false;
};

Result<int> create(Program& program, const CreateOptions& options) {
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY(auto body, options.body(*client));
  HARENA_TRY(const auto sandbox, Sandboxes(*client).create(options.backend, std::move(body)));
  HARENA_TRY_STATUS(program.options.json ? print_json(sandbox.raw) : print_line(sandbox.id));
  return kExitOk;
}

std::vector<std::string> row_of(const SandboxInfo& one, std::int64_t now_ms) {
  return {one.id, one.backend, one.state, age(one.created_ms, now_ms), one.image, one.project, one.task};
}

Result<int> list(Program& program, ListOptions options) {
  if (!options.all && options.filter.states.empty()) {
    options.filter.states = {"creating", "running", "pausing", "paused", "resuming", "stopping"};
  }
  HARENA_TRY(const auto client, program.connect());
  Table table({"ID", "BACKEND", "STATE", "AGE", "IMAGE", "PROJECT", "TASK"});
  json found = json::array();
  const auto now_ms = SystemClock().wall_ms();
  HARENA_TRY_STATUS(Sandboxes(*client).list(options.filter, [&](const SandboxInfo& one) -> Status {
    if (options.quiet) return print_line(one.id);
    if (program.options.json) {
      found.push_back(one.raw);
    } else {
      table.add(row_of(one, now_ms));
    }
    return {};
  }));
  if (options.quiet) return kExitOk;
  HARENA_TRY_STATUS(program.options.json ? print_json(found) : table.print());
  return kExitOk;
}

using Verb = std::function<Result<SandboxInfo>(Sandboxes&, const std::string& id)>;

/// Each of `ids`; the first that fails doesn't keep the others from their turn.
Result<int> for_each(Program& program, const std::vector<std::string>& ids, const Verb& verb) {
  HARENA_TRY(const auto client, program.connect());
  Sandboxes sandboxes(*client);
  int code = kExitOk;
  for (const auto& id : ids) {
    const auto done = verb(sandboxes, id);
    if (!done.ok()) {
      print_error(done.error(), program.options.json);
      code = kExitPlatform;
      continue;
    }
    HARENA_TRY_STATUS(program.options.json ? print_json(done->raw) : print_line(id));
  }
  return code;
}

Result<int> inspect(Program& program, const std::vector<std::string>& ids) {
  HARENA_TRY(const auto client, program.connect());
  json found = json::array();
  for (const auto& id : ids) {
    HARENA_TRY(const auto sandbox, Sandboxes(*client).get(id));
    found.push_back(sandbox.raw);
  }
  HARENA_TRY_STATUS(print_json(found));
  return kExitOk;
}

void add_create(Program& program) {
  auto options = std::make_shared<CreateOptions>();
  auto* sub = program.command("create", "Make a sandbox and print its id", [&program, options] { return create(program, *options); });
  sub->add_option("image,--image", options->image, "project/name:tag");  // one option: two of one name are an error from CLI11 2.2 on
  options->add_to(*sub);
}

void add_list(Program& program) {
  auto options = std::make_shared<ListOptions>();
  auto* sub = program.command("ls", "List sandboxes that haven't ended", [&program, options] { return list(program, *options); });
  sub->add_flag("-q,--quiet", options->quiet, "Ids only");
  sub->add_flag("-a,--all", options->all, "Ended ones too");
  sub->add_option("--project", options->filter.project, "Only of this project");
  sub->add_option("--task", options->filter.task, "Only of this task");
  sub->add_option("--backend", options->filter.backend, "Only of this backend");
  add_repeated(*sub, "--state", options->filter.states, "Only in this state; repeatable");
  add_repeated(*sub, "-l,--label", options->filter.labels, "key=value; repeatable");
}

CLI::App* add_verb(Program& program, const char* name, const char* help, std::function<Result<int>(const std::vector<std::string>&)> run) {
  auto ids = std::make_shared<std::vector<std::string>>();
  auto* sub = program.command(name, help, [ids, run = std::move(run)] { return run(*ids); });
  sub->add_option("sandbox", *ids, "Ids of sandboxes")->required();
  return sub;
}

}  // namespace

void add_lifecycle(Program& program) {
  add_create(program);
  add_list(program);
  add_verb(program, "inspect", "Show all that is known of sandboxes, as JSON", [&program](const auto& ids) { return inspect(program, ids); });
  add_verb(program, "pause", "Freeze sandboxes", [&program](const auto& ids) {
    return for_each(program, ids, [](Sandboxes& all, const std::string& id) { return all.pause(id); });
  });
  add_verb(program, "resume", "Let paused sandboxes go on", [&program](const auto& ids) {
    return for_each(program, ids, [](Sandboxes& all, const std::string& id) { return all.resume(id); });
  });
  auto grace = std::make_shared<std::string>("0");
  auto* stop = add_verb(program, "stop", "End sandboxes", [&program, grace](const auto& ids) -> Result<int> {
    HARENA_TRY(const auto grace_ms, parse_duration_ms(*grace, "--grace", 0));
    return for_each(program, ids, [grace_ms](Sandboxes& all, const std::string& id) { return all.stop(id, grace_ms); });
  });
  stop->add_option("--grace", *grace, "Time for its processes to end by themselves: 10s")->capture_default_str();
}

}  // namespace harena::cli
