// fork, snapshot, snapshots ls|inspect|rm, rollback

#include "core/cli/params.hpp"
#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/words.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/client/snapshots.hpp"

namespace harena::cli {

using client::Snapshots;
using nlohmann::json;

namespace {

/// One line a child, in order; those that couldn't be made are errors and make the exit code one.
Result<int> fork_sandbox(Program& program, const std::string& sandbox, std::int64_t count) {
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY(const auto answer, Snapshots(*client).fork(sandbox, {{"count", count}}));
  if (program.options.json) {
    HARENA_TRY_STATUS(print_json(answer));
  }
  int code = kExitOk;
  for (const auto& one : answer.value("results", json::array())) {
    if (one.contains("error")) {
      print_error(client::error_from(one), program.options.json);
      code = kExitPlatform;
    } else if (!program.options.json) {
      HARENA_TRY_STATUS(print_line(client::text_or(one.at("sandbox"), "id")));
    }
  }
  return code;
}

Result<int> take_snapshot(Program& program, const std::string& sandbox, const std::string& name) {
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY(const auto taken, Snapshots(*client).take(sandbox, name));
  HARENA_TRY_STATUS(program.options.json ? print_json(taken) : print_line(client::text_or(taken, "id")));
  return kExitOk;
}

Result<int> roll_back(Program& program, const std::string& sandbox, const std::string& name) {
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY(const auto done, Snapshots(*client).rollback(sandbox, name));
  HARENA_TRY_STATUS(program.options.json ? print_json(done) : print_line(sandbox));
  return kExitOk;
}

struct SnapshotListOptions {
  std::string project, sandbox;
  bool quiet = false;
};

Result<int> list_snapshots(Program& program, const SnapshotListOptions& options) {
  HARENA_TRY(const auto client, program.connect());
  Table table({"ID", "NAME", "PROJECT", "SANDBOX", "KEPT", "AGE", "IMAGE"});
  json found = json::array();
  const auto now_ms = SystemClock().wall_ms();
  HARENA_TRY_STATUS(Snapshots(*client).list(options.project, options.sandbox, [&](const json& one) -> Status {
    const auto text = [&one](const char* key) { return client::text_or(one, key); };
    if (options.quiet) return print_line(text("id"));
    if (program.options.json) {
      found.push_back(one);
    } else {
      table.add({text("id"), text("name"), text("project"), text("sandbox_id"), text("kept"), age(one.value("created_ms", std::int64_t{0}), now_ms),
                 text("image")});
    }
    return {};
  }));
  if (options.quiet) return kExitOk;
  HARENA_TRY_STATUS(program.options.json ? print_json(found) : table.print());
  return kExitOk;
}

Result<int> inspect_snapshots(Program& program, const std::string& project, const std::vector<std::string>& names) {
  HARENA_TRY(const auto client, program.connect());
  json found = json::array();
  for (const auto& name : names) {
    HARENA_TRY(auto one, Snapshots(*client).get(name, project));
    found.push_back(std::move(one));
  }
  HARENA_TRY_STATUS(print_json(found));
  return kExitOk;
}

Result<int> remove_snapshots(Program& program, const std::string& project, const std::vector<std::string>& names) {
  HARENA_TRY(const auto client, program.connect());
  int code = kExitOk;
  for (const auto& name : names) {
    if (const auto removed = Snapshots(*client).remove(name, project); !removed.ok()) {
      print_error(removed.error(), program.options.json);
      code = kExitPlatform;
    }
  }
  return code;
}

void add_fork(Program& program) {
  auto sandbox = std::make_shared<std::string>();
  auto count = std::make_shared<std::int64_t>(1);
  auto* sub = program.command("fork", "Make sandboxes that have what this one has, and print their ids",
                              [&program, sandbox, count] { return fork_sandbox(program, *sandbox, *count); });
  sub->add_option("sandbox", *sandbox, "Id of a sandbox")->required();
  sub->add_option("-n,--count", *count, "How many")->capture_default_str()->check(CLI::Range(1, 1000));
}

void add_snapshot_verb(Program& program, const char* command, const char* help, const char* what, bool required,
             Result<int> (*run)(Program&, const std::string&, const std::string&)) {
  auto sandbox = std::make_shared<std::string>();
  auto name = std::make_shared<std::string>();
  auto* sub = program.command(command, help, [&program, sandbox, name, run] { return run(program, *sandbox, *name); });
  sub->add_option("sandbox", *sandbox, "Id of a sandbox")->required();
  auto* option = sub->add_option("name", *name, what);
  if (required) option->required();
}

void add_named_snapshots(Program& program, CLI::App& group, const char* command, const char* help,
               Result<int> (*run)(Program&, const std::string&, const std::vector<std::string>&)) {
  auto names = std::make_shared<std::vector<std::string>>();
  auto project = std::make_shared<std::string>();
  auto* sub = program.command(group, command, help, [&program, names, project, run] { return run(program, *project, *names); });
  sub->add_option("snapshot", *names, "Ids or names")->required();
  sub->add_option("--project", *project, "Project of the names");
}

}  // namespace

void add_snapshots(Program& program) {
  add_fork(program);
  add_snapshot_verb(program, "snapshot", "Take a snapshot of a sandbox and print its id", "One in its project; by default its id", false, take_snapshot);
  add_snapshot_verb(program, "rollback", "Bring a sandbox back to a snapshot; what runs in it is ended", "A snapshot's id or name", true, roll_back);
  auto* group = program.app.add_subcommand("snapshots", "Snapshots of sandboxes");
  group->require_subcommand(1);
  auto options = std::make_shared<SnapshotListOptions>();
  auto* sub = program.command(*group, "ls", "List them", [&program, options] { return list_snapshots(program, *options); });
  sub->add_flag("-q,--quiet", options->quiet, "Ids only");
  sub->add_option("--project", options->project, "Only of this project");
  sub->add_option("--sandbox", options->sandbox, "Only of this sandbox");
  add_named_snapshots(program, *group, "inspect", "Show all that is known of snapshots, as JSON", inspect_snapshots);
  add_named_snapshots(program, *group, "rm", "Delete snapshots; what was made of them goes on", remove_snapshots);
}

}  // namespace harena::cli
