#include "plugins/e2b/envd/process/process_start.hpp"

namespace harena::e2b {

using nlohmann::json;

namespace {

constexpr std::uint32_t kMaxTerminalSide = 65535;  // the kernel's winsize has 16 bits

Result<json> terminal(const process::PTY& pty) {
  const auto& size = pty.size();
  if (size.cols() > kMaxTerminalSide || size.rows() > kMaxTerminalSide) {
    return make_error(ErrorCode::invalid_argument, "a terminal of " + std::to_string(size.cols()) + " x " +
                                                       std::to_string(size.rows()) + "; at most 65535 a side");
  }
  return json{{"cols", size.cols() == 0 ? 80 : size.cols()}, {"rows", size.rows() == 0 ? 24 : size.rows()}};
}

json environment(const process::StartRequest& request, const SandboxAccess& sandbox) {
  json all = json::object();
  for (const auto& [name, value] : sandbox.environment) all[name] = value;
  for (const auto& [name, value] : request.process().envs()) all[name] = value;
  return all;
}

}  // namespace

Result<json> start_body(const process::StartRequest& request, const StartContext& context) {
  const auto& config = request.process();
  if (config.cmd().empty()) return make_error(ErrorCode::invalid_argument, "process.cmd is empty; a program is right, such as /bin/bash");
  json body = {{"argv", json::array({config.cmd()})}, {"user", context.user}, {"on_disconnect", "keep"},
               {"output_limit_bytes", kKeptOutputBytes}, {"env", environment(request, context.sandbox)}};
  for (const auto& argument : config.args()) body["argv"].push_back(argument);
  if (request.has_pty()) {
    HARENA_TRY(body["pty"], terminal(request.pty()));
  }
  // Absent means a pipe, for clients that are older than the field; a terminal always has its own.
  const bool pipe = !request.has_stdin() || request.stdin();
  body["stdin"] = pipe || request.has_pty() ? "pipe" : "none";
  if (!context.cwd.empty()) body["cwd"] = context.cwd;
  if (!context.op.empty()) body["op"] = context.op;
  if (context.timeout && context.timeout->count() > 0) body["timeout_ms"] = context.timeout->count();
  return body;
}

Error start_error(Error error, const std::string& reason, const process::StartRequest& request, const StartContext& context) {
  if (reason == "no_such_cwd") return make_error(ErrorCode::invalid_argument, "cwd '" + context.cwd + "' does not exist");
  if (reason == "no_such_user") return make_error(ErrorCode::unauthenticated, "invalid username: '" + context.user + "'");
  if (reason == "no_such_program" || reason == "not_executable") {
    return make_error(ErrorCode::invalid_argument, "error starting process '" + request.process().cmd() + "': " + error.message);
  }
  return error;
}

}  // namespace harena::e2b
