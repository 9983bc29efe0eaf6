// run, exec, shell

#include <unistd.h>

#include <cstdlib>

#include "core/cli/create_options.hpp"
#include "core/cli/exec_session.hpp"
#include "core/cli/exit_code.hpp"
#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/words.hpp"
#include "sdk/client/sandboxes.hpp"

namespace harena::cli {

namespace {

struct ExecOptions {
  std::string sandbox;
  bool interactive = false;
  bool tty = false;
  bool no_stdin = false;
  bool detach = false;
  bool trusted_tools = false;
  std::vector<std::string> env;
  std::string cwd;
  std::string user;
  std::string timeout;
  std::string op;
  std::string detach_keys;

  void add_detach_keys(CLI::App& app) {
    app.add_option("--detach-keys", detach_keys,
                   "Keys that leave the terminal and not end the command: ctrl-p,ctrl-q; see 'attach'");
  }
  Result<DetachKeys> keys() const { return detach_keys.empty() ? Result<DetachKeys>(DetachKeys()) : DetachKeys::parse(detach_keys); }

  void add_to(CLI::App& app) {
    app.add_flag("-i,--interactive", interactive, "Pass stdin on, though it is a terminal");
    app.add_flag("-t,--tty", tty, "Run it in a terminal; with -i: -it");
    app.add_flag("-n,--no-stdin", no_stdin, "Pass nothing on, though stdin is no terminal");
    app.add_flag("--trusted-tools", trusted_tools, "Run the platform's own sh, cat, grep ..., which the agent can't replace");
    add_repeated(app, "-e,--env", env, "NAME=value, or NAME for this program's own value; repeatable");
    app.add_option("-w,--cwd", cwd, "Working directory");
    app.add_option("-u,--user", user, "User to run as");
    app.add_option("--timeout", timeout, "End it, with all it started, after: 30s, 5m");
  }
};

struct RunOptions {
  CreateOptions create;
  ExecOptions exec;
  bool keep = false;
};

Result<std::pair<std::string, std::string>> env_pair(const std::string& text) {
  if (text.find('=') != std::string::npos) return parse_pair(text, "--env");
  const char* value = std::getenv(text.c_str());
  if (value != nullptr) return std::pair(text, std::string(value));
  return make_error(ErrorCode::invalid_argument, "--env is '" + text + "', and this program has no such variable; give NAME=value");
}

Result<client::CommandRequest> request_of(const Program& program, const ExecOptions& options) {
  client::CommandRequest request;
  if (!program.trailing || program.trailing->empty()) {
    return make_error(ErrorCode::invalid_argument, "no command: put it behind --, as in: harena exec SANDBOX -- ls -l /");
  }
  request.argv = *program.trailing;
  for (const auto& text : options.env) {
    HARENA_TRY(auto pair, env_pair(text));
    request.env.push_back(std::move(pair));
  }
  request.cwd = options.cwd;
  request.user = options.user;
  request.op = options.op;
  request.trusted_tools = options.trusted_tools;
  if (!options.timeout.empty()) {
    HARENA_TRY(request.timeout_ms, parse_duration_ms(options.timeout, "--timeout"));
  }
  request.stdin_pipe = !options.no_stdin && !options.detach && (options.interactive || ::isatty(STDIN_FILENO) == 0);
  return request;
}

void add_terminal_type(client::CommandRequest& request) {
  for (const auto& [name, value] : request.env) {
    if (name == "TERM") return;
  }
  const char* term = std::getenv("TERM");
  request.env.emplace_back("TERM", term != nullptr && *term != '\0' ? term : "xterm");
}

Result<int> run_session(client::Client& client, ExecPlan plan, const ExecOptions& options, const BlockedSignals& signals) {
  if (!options.tty) return run_piped(client, std::move(plan), signals);
  add_terminal_type(plan.request);
  HARENA_TRY(auto keys, options.keys());
  return run_in_terminal(client, std::move(plan), signals, std::move(keys));
}

/// Failures that belong to the command's start have exit codes of their own: shown here, once.
Result<int> with_exit_code(const Program& program, Result<int> outcome) {
  if (outcome.ok() || outcome.error().code == ErrorCode::cancelled) return outcome;
  print_error(outcome.error(), program.options.json);
  return exit_code_of(outcome.error());
}

Status check_detach_keys(const ExecOptions& options) {
  HARENA_TRY(const auto keys, options.keys());
  if (options.detach_keys.empty() || options.tty) return {};
  return make_error(ErrorCode::invalid_argument, "--detach-keys are typed in a terminal: give -it too");
}

Result<int> attach(Program& program, const ExecOptions& options, const std::string& command) {
  HARENA_TRY(auto keys, options.keys());
  HARENA_TRY(const auto signals, block_session_signals());
  HARENA_TRY(const auto client, program.connect());
  return with_exit_code(program, attach_terminal(*client, options.sandbox, command, signals, std::move(keys)));
}

Result<int> exec(Program& program, const ExecOptions& options) {
  HARENA_TRY(auto request, request_of(program, options));
  HARENA_TRY_STATUS(check_detach_keys(options));
  HARENA_TRY(const auto signals, block_session_signals());
  HARENA_TRY(const auto client, program.connect());
  if (!options.detach) {
    return with_exit_code(program, run_session(*client, {options.sandbox, std::move(request)}, options, signals));
  }
  auto command = client::Commands(*client, options.sandbox).start(std::move(request));
  if (!command.ok()) return with_exit_code(program, std::move(command).error());
  HARENA_TRY_STATUS(program.options.json ? print_json(*command) : print_line(client::text_or(*command, "id")));
  return kExitOk;
}

/// The sandbox of `run`: stopped whatever happened, unless it is to be kept.
Result<int> run_and_stop(const Program& program, client::Client& client, const RunOptions& options, ExecPlan plan,
                         const BlockedSignals& signals) {
  if (const int number = signals.take(); number != 0 && number != SIGWINCH) {
    HARENA_TRY_STATUS(client::Sandboxes(client).stop(plan.sandbox_id));
    return 128 + number;
  }
  const auto id = plan.sandbox_id;
  auto outcome = with_exit_code(program, run_session(client, std::move(plan), options.exec, signals));
  if (options.keep) {
    HARENA_TRY_STATUS(write_all(STDERR_FILENO, "kept: " + id + "\n"));
    return outcome;
  }
  const auto stopped = client::Sandboxes(client).stop(id);
  if (stopped.ok() || !outcome.ok()) return outcome;
  print_error(Error(stopped.error()).during("stopping " + id), program.options.json);
  return outcome;
}

Result<int> run(Program& program, const RunOptions& options) {
  HARENA_TRY(auto request, request_of(program, options.exec));
  HARENA_TRY(const auto signals, block_session_signals());
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY(auto body, options.create.body(*client));
  HARENA_TRY(const auto sandbox, client::Sandboxes(*client).create(options.create.backend, std::move(body)));
  return run_and_stop(program, *client, options, {sandbox.id, std::move(request)}, signals);
}

Result<int> shell(Program& program, ExecOptions options, const std::string& path) {
  if (program.trailing) return make_error(ErrorCode::invalid_argument, "shell takes no command; 'exec' does");
  program.trailing = path.empty() ? std::vector<std::string>{"/bin/sh", "-c", "exec \"$(command -v bash || command -v sh)\""}
                                  : std::vector<std::string>{path};
  options.tty = true;
  return exec(program, options);
}

}  // namespace

void add_exec(Program& program) {
  auto run_options = std::make_shared<RunOptions>();
  auto* run_app = program.command("run", "Make a sandbox, run the command behind -- in it, stop it",
                                  [&program, run_options] { return run(program, *run_options); });
  run_app->add_option("image", run_options->create.image, "project/name:tag")->required();
  run_options->create.add_to(*run_app);
  run_options->exec.add_to(*run_app);
  run_app->add_flag("--keep", run_options->keep, "Leave the sandbox running");

  auto exec_options = std::make_shared<ExecOptions>();
  auto* exec_app = program.command("exec", "Run the command behind -- in a sandbox",
                                   [&program, exec_options] { return exec(program, *exec_options); });
  exec_app->add_option("sandbox", exec_options->sandbox, "Id of the sandbox")->required();
  exec_options->add_to(*exec_app);
  exec_app->add_flag("-d,--detach", exec_options->detach, "Print the command's id and leave it running; see 'logs'");
  exec_options->add_detach_keys(*exec_app);
  exec_app->add_option("--op", exec_options->op, "Operation id: the same one never starts it twice");

  auto shell_options = std::make_shared<ExecOptions>();
  auto path = std::make_shared<std::string>();
  auto* shell_app = program.command("shell", "Open a shell in a sandbox",
                                    [&program, shell_options, path] { return shell(program, *shell_options, *path); });
  shell_app->add_option("sandbox", shell_options->sandbox, "Id of the sandbox")->required();
  shell_app->add_option("--shell", *path, "Path of the shell (bash, or else sh)");
  shell_app->add_option("-u,--user", shell_options->user, "User to run as");
  shell_app->add_option("-w,--cwd", shell_options->cwd, "Working directory");
  shell_options->add_detach_keys(*shell_app);

  auto attach_options = std::make_shared<ExecOptions>();
  auto command = std::make_shared<std::string>();
  auto* attach_app = program.command("attach", "Return to the terminal of a command that runs",
                                     [&program, attach_options, command] { return attach(program, *attach_options, *command); });
  attach_app->add_option("sandbox", attach_options->sandbox, "Id of the sandbox")->required();
  attach_app->add_option("command", *command, "Id of the command; see 'ps'")->required();
  attach_options->add_detach_keys(*attach_app);
}

}  // namespace harena::cli
