// harena: the command line.

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>

#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/words.hpp"
#include "sdk/base/standard_streams.hpp"
#include "sdk/base/text.hpp"

namespace harena::cli {

namespace {

void set_up(Program& program) {
  program.app.require_subcommand(1);
  program.app.set_version_flag("--version", std::string("harena " HARENA_VERSION));
  program.app.add_option("--url", program.options.url, "Server (HARENA_URL, or http://127.0.0.1:7300)");
  program.app.add_option("--token", program.options.token, "Token (HARENA_TOKEN, or the admin token file of this machine)");
  program.app.add_flag("--json", program.options.json, "Answers and errors as JSON");
  program.app.footer("Exit codes: the remote command's own; 124 its timeout; 125 Harena's failure; see docs/cli.md.");
  add_lifecycle(program);
  add_snapshots(program);
  add_resize(program);
  add_events(program);
  add_exec(program);
  add_console(program);
  add_logs(program);
  add_copy(program);
  add_ports(program);
  add_images(program);
  add_admin(program);
  add_incidents(program);
  add_access(program);
  add_e2b(program);
  add_completion(program);
}

Result<int> run_action(Program& program) {
  if (!program.trailing) return program.action();
  // Only these have use for what stands behind "--"; nothing that was typed is ignored.
  const auto subcommands = program.app.get_subcommands();
  const auto name = subcommands.empty() ? "" : subcommands.front()->get_name();
  if (name == "run" || name == "exec" || name == "shell") return program.action();
  return make_error(ErrorCode::invalid_argument, "'" + name + "' takes no command behind --");
}

/// The first word that is neither an option nor the value of a global one.
std::string first_word(const std::vector<std::string>& arguments) {
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    if (arguments[at] == "--url" || arguments[at] == "--token") {
      ++at;
    } else if (!arguments[at].starts_with('-')) {
      return arguments[at];
    }
  }
  return "";
}

Status check_command_name(const Program& program, const std::vector<std::string>& arguments) {
  const auto word = first_word(arguments);
  std::vector<std::string> known;
  for (const auto* sub : program.app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(sub->get_name());
    for (const auto& alias : sub->get_aliases()) known.push_back(alias);
  }
  if (word.empty() || std::find(known.begin(), known.end(), word) != known.end()) return {};
  return make_error(ErrorCode::invalid_argument, "there is no command '" + word + "'" + suggestion(word, known));
}

/// The command that the arguments named, whole: "images import".
std::string command_name(const CLI::App& app) {
  const auto named = app.get_subcommands();
  if (named.empty()) return "";
  const auto inner = command_name(*named.front());
  return named.front()->get_name() + (inner.empty() ? "" : " " + inner);
}

/// The command that was named, the innermost.
const CLI::App& innermost(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app : innermost(*named.front());
}

/// The first option that is none, with the nearest that is one; "" when it isn't an option that was too much.
std::string unknown_option(const Program& program) {
  const auto extra = program.app.remaining(true);
  const auto wrong = std::find_if(extra.begin(), extra.end(), [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); });
  if (wrong == extra.end()) return "";
  std::vector<std::string> known;
  for (const auto* app : {&innermost(program.app), static_cast<const CLI::App*>(&program.app)}) {
    for (const auto* option : app->get_options()) {
      for (const auto& name : option->get_lnames()) known.push_back(name);
    }
  }
  const auto word = wrong->substr(0, wrong->find('='));
  const auto near = word.starts_with("--") ? nearest(word.substr(2), known) : std::nullopt;
  return "there is no option '" + word + "'" + (near ? ", did you mean '--" + *near + "'?" : "");
}

/// CLI11's own sentence, with what it can't know.
std::string parse_message(const Program& program, const CLI::ParseError& error) {
  std::string text = error.what();
  const auto name = command_name(program.app);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    if (!program.trailing && (name == "exec" || name == "run")) {
      return text + "; the command goes behind --, as in: harena exec SANDBOX -- ls -l /";
    }
    if (const auto option = unknown_option(program); !option.empty()) text = option;
  }
  return text + "; see harena " + (name.empty() ? "" : name + " ") + "--help";
}

/// For `cp` "--" is what it is for cp(1): behind it are paths, whatever they look like.
void take_paths_back(Program& program, std::vector<std::string>& arguments) {
  if (!program.trailing || first_word(arguments) != "cp") return;
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), program.trailing->begin(), program.trailing->end());
  program.trailing.reset();
}

Result<int> run_program(Program& program, std::vector<std::string> arguments) try {
  HARENA_TRY_STATUS(check_command_name(program, arguments));
  take_paths_back(program, arguments);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  program.app.parse(std::move(arguments));
  return run_action(program);
} catch (const CLI::Success& wish) {  // --help, --version
  return program.app.exit(wish);
} catch (const CLI::ParseError& error) {
  return make_error(ErrorCode::invalid_argument, parse_message(program, error));
} catch (const std::exception& error) {
  // Answers of an unexpected shape end up here.
  return make_error(ErrorCode::internal, error.what());
}

}  // namespace

}  // namespace harena::cli

int main(int argc, char** argv) {
  harena::fill_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write, which knows what to undo
  harena::cli::Program program;
  auto split = harena::cli::split_arguments(argc, argv);
  program.trailing = std::move(split.trailing);
  harena::cli::set_up(program);
  const auto outcome = harena::cli::run_program(program, std::move(split.ours));
  if (outcome.ok()) return *outcome;
  if (outcome.error().code == harena::ErrorCode::cancelled) return harena::cli::kExitBrokenPipe;
  harena::cli::print_error(outcome.error(), program.options.json);
  return harena::cli::kExitPlatform;
}
