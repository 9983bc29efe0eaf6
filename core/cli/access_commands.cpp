// token create|ls|rm, project create|ls|rm

#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/words.hpp"
#include "sdk/client/client.hpp"

namespace harena::cli {

using client::text_or;
using nlohmann::json;

namespace {

struct TokenOptions {
  std::string name;
  std::string project;
  std::vector<std::string> permissions;
  std::string expires;
};

Result<int> create_token(Program& program, const TokenOptions& options) {
  json body = {{"name", options.name}, {"permissions", options.permissions}};
  if (!options.project.empty()) body["project"] = options.project;
  if (!options.expires.empty()) {
    HARENA_TRY(body["expires_s"], parse_duration_s(options.expires, "--expires", 1));
  }
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY(const auto token, client->post("/tokens", body));
  // The secret alone on stdout: `export HARENA_TOKEN=$(harena token create ci)`.
  HARENA_TRY_STATUS(program.options.json ? print_json(token) : print_line(text_or(token, "secret")));
  return kExitOk;
}

Result<int> show_all(Program& program, const std::string& name, const std::vector<std::string>& titles,
                     const std::vector<const char*>& keys) {
  HARENA_TRY(const auto client, program.connect());
  json found = json::array();
  Table table(titles);
  HARENA_TRY_STATUS(client->pages("/" + name, name, [&](const json& one) -> Status {
    std::vector<std::string> row;
    for (const auto* key : keys) {
      const auto value = one.find(key);
      row.push_back(value == one.end() || value->is_null() ? "" : value->is_string() ? value->get<std::string>() : value->dump());
    }
    table.add(std::move(row));
    found.push_back(one);
    return {};
  }));
  HARENA_TRY_STATUS(program.options.json ? print_json(found) : table.print());
  return kExitOk;
}

void add_removal(Program& program, CLI::App& parent, const char* argument, const std::string& path, const char* help) {
  auto what = std::make_shared<std::string>();
  auto* sub = program.command(parent, "rm", help, [&program, what, path]() -> Result<int> {
    HARENA_TRY(const auto client, program.connect());
    HARENA_TRY_STATUS(client->remove(path + client::segment(*what)));
    return kExitOk;
  });
  sub->add_option(argument, *what, "As 'ls' shows it")->required();
}

void add_token(Program& program) {
  auto* token = program.command("token", "Tokens for people and programs", nullptr);
  token->require_subcommand(1);
  auto options = std::make_shared<TokenOptions>();
  auto* create = program.command(*token, "create", "Make one and print its secret, which nothing shows again",
                                 [&program, options] { return create_token(program, *options); });
  create->add_option("name", options->name, "What it is for")->required();
  create->add_option("--project", options->project, "Where it is valid, with all below (root)");
  add_repeated(*create, "--permission", options->permissions, "What it may do: sandbox_create, sandbox_use, ...; repeatable")->required();
  create->add_option("--expires", options->expires, "Valid for: 30d");
  program.command(*token, "ls", "List tokens, without their secrets", [&program] {
    return show_all(program, "tokens", {"ID", "NAME", "PROJECT", "PERMISSIONS"}, {"id", "name", "project", "permissions"});
  });
  add_removal(program, *token, "id", "/tokens/", "Revoke one");
}

void add_project(Program& program) {
  auto* project = program.command("project", "Projects", nullptr);
  project->require_subcommand(1);
  auto path = std::make_shared<std::string>();
  auto* create = program.command(*project, "create", "Make one", [&program, path]() -> Result<int> {
    HARENA_TRY(const auto client, program.connect());
    HARENA_TRY(const auto made, client->post("/projects", {{"path", *path}}));
    HARENA_TRY_STATUS(program.options.json ? print_json(made) : print_line(text_or(made, "path", *path)));
    return kExitOk;
  });
  create->add_option("path", *path, "root/rl/job-42")->required();
  program.command(*project, "ls", "List projects", [&program] { return show_all(program, "projects", {"PATH"}, {"path"}); });
  add_removal(program, *project, "path", "/projects/", "Remove an empty one");
}

}  // namespace

void add_access(Program& program) {
  add_token(program);
  add_project(program);
}

}  // namespace harena::cli
