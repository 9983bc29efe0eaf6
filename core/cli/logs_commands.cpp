// ps, logs

#include <unistd.h>

#include "core/cli/exit_code.hpp"
#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/client/commands.hpp"

namespace harena::cli {

using client::text_or;
using nlohmann::json;

namespace {

struct LogOptions {
  std::string sandbox;
  std::string command;
  bool follow = false;
};

std::string command_line(const json& command) {
  if (command.contains("shell")) return text_or(command, "shell");
  std::string line;
  for (const auto& word : command.value("argv", json::array())) {
    // What isn't UTF-8 comes as {"b64": ...}.
    line += (line.empty() ? "" : " ") + (word.is_string() ? word.get<std::string>() : word.dump());
  }
  return line;
}

std::string ending(const json& command) {
  if (!command.contains("exit") || command["exit"].is_null()) return "running";
  const auto status = client::ExitStatus::from_json(command["exit"]);
  if (status.cause != "exit" && status.cause != "signal") return status.cause;
  return status.code ? "exit " + std::to_string(*status.code) : "SIG" + status.signal;
}

Result<int> list_commands(Program& program, const std::string& sandbox) {
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY(const auto commands, client::Commands(*client, sandbox).list());
  if (program.options.json) {
    HARENA_TRY_STATUS(print_json(commands));
    return kExitOk;
  }
  Table table({"COMMAND", "STATE", "AGE", "PID", "LINE"});
  const auto now_ms = SystemClock().wall_ms();
  for (const auto& one : commands) {
    const auto pid = one.find("pid");
    table.add({text_or(one, "id"), ending(one), age(one.value("started_ms", now_ms), now_ms),
               pid != one.end() && pid->is_number() ? pid->dump() : "", command_line(one)});
  }
  HARENA_TRY_STATUS(table.print());
  return kExitOk;
}

Result<std::string> latest_command(client::Commands& commands, const std::string& sandbox) {
  HARENA_TRY(const auto list, commands.list());
  const json* latest = nullptr;
  for (const auto& one : list) {
    if (latest == nullptr || one.value("started_ms", 0LL) >= latest->value("started_ms", 0LL)) latest = &one;
  }
  if (latest != nullptr) return text_or(*latest, "id");
  return make_error(ErrorCode::not_found, "no command has run in sandbox " + sandbox);
}

Result<int> logs(Program& program, LogOptions options) {
  HARENA_TRY(const auto client, program.connect());
  client::Commands commands(*client, options.sandbox);
  if (options.command.empty()) {
    HARENA_TRY(options.command, latest_command(commands, options.sandbox));
  }
  const auto show = [&](const client::OutputEvent& event) -> Status {
    const bool err = event.stream == client::OutputEvent::Stream::err;
    if (program.options.json) {
      json line = {{"stream", err ? "stderr" : "stdout"}};
      if (event.truncated) line["truncated"] = true;
      client::put_bytes(line, "data", event.data);
      return print_line(line.dump());
    }
    if (event.truncated) return write_all(STDERR_FILENO, "note: the output reached its limit; the rest was dropped\n");
    return write_all(err ? STDERR_FILENO : STDOUT_FILENO, event.data);
  };
  std::optional<client::ExitStatus> ended;
  if (options.follow) {
    HARENA_TRY(ended, commands.follow(options.command, {}, show));
  } else {
    HARENA_TRY(ended, commands.dump(options.command, show));
  }
  if (program.options.json && ended) HARENA_TRY_STATUS(print_line(json({{"exit", ended->raw}}).dump()));
  return kExitOk;
}

}  // namespace

void add_logs(Program& program) {
  auto sandbox = std::make_shared<std::string>();
  auto* ps = program.command("ps", "List the commands of a sandbox", [&program, sandbox] { return list_commands(program, *sandbox); });
  ps->add_option("sandbox", *sandbox, "Id of the sandbox")->required();

  auto options = std::make_shared<LogOptions>();
  auto* sub = program.command("logs", "Show what a command printed", [&program, options] { return logs(program, *options); });
  sub->add_option("sandbox", options->sandbox, "Id of the sandbox")->required();
  sub->add_option("command", options->command, "Id of the command (the latest)");
  sub->add_flag("-f,--follow", options->follow, "Go on until it has ended");
}

}  // namespace harena::cli
