#include "plugins/e2b/envd/process/process_service.hpp"

#include <map>

#include "plugins/e2b/envd/connect/live_rpc.hpp"
#include "plugins/e2b/envd/process/process_event.hpp"
#include "plugins/e2b/envd/process/process_output.hpp"
#include "plugins/e2b/envd/process/process_select.hpp"
#include "plugins/e2b/envd/process/process_start.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

constexpr std::size_t kUniqueBytes = 6;

std::string command_target(const EnvdCall& call, const json& command, std::string_view verb) {
  return call.target("/commands/" + command.value("id", "") + std::string(verb));
}

/// Bytes for a command's stdin or terminal.
Task<Status> write_input(EnvdCall& call, const json& command, const process::ProcessInput& input) {
  const bool pty = command.value("pty", false);
  if (input.input_case() == process::ProcessInput::INPUT_NOT_SET) co_return make_error(ErrorCode::invalid_argument, "input has neither stdin nor pty");
  if (input.has_pty() && !pty) co_return make_error(ErrorCode::failed_precondition, "the process has no terminal; send stdin instead of pty");
  if (input.has_stdin() && pty) co_return make_error(ErrorCode::failed_precondition, "the process has a terminal; send pty instead of stdin");
  ApiBody body;
  body.text = pty ? input.pty() : input.stdin();
  body.type = "application/octet-stream";
  HARENA_CO_TRY(const auto answer, co_await call.api.send("POST", command_target(call, command, "/stdin"), std::move(body)));
  co_return ok_status();
}

FollowedCommand followed(const json& command) {
  FollowedCommand out;
  out.id = command.value("id", "");
  out.pid = static_cast<std::uint32_t>(command.value("pid", std::int64_t{0}));
  out.pty = command.value("pty", false);
  out.takes_input = true;  // it runs already, and whoever connects may want to write
  return out;
}

}  // namespace

void ProcessNotes::keep(const std::string& sandbox, const std::string& command, const process::ProcessConfig& config) {
  if (config.envs().empty() && !config.has_cwd()) return;
  process::ProcessConfig note;
  *note.mutable_envs() = config.envs();
  if (config.has_cwd()) note.set_cwd(config.cwd());
  const std::lock_guard lock(mutex_);
  if (notes_.size() >= kMaxNotes) notes_.erase(notes_.begin());
  notes_[sandbox + "/" + command] = std::move(note);
}

void ProcessNotes::complete(const std::string& sandbox, const std::string& command, process::ProcessConfig& config) const {
  const std::lock_guard lock(mutex_);
  const auto found = notes_.find(sandbox + "/" + command);
  if (found != notes_.end()) config.MergeFrom(found->second);
}

ProcessService::Method ProcessService::method(std::string_view name) {
  using P = ProcessService;
  static const std::map<std::string_view, Method> kMethods = {
      {"List", &P::list},           {"Start", &P::start},           {"Connect", &P::connect},        {"Update", &P::update},
      {"StreamInput", &P::stream_input}, {"SendInput", &P::send_input}, {"SendSignal", &P::send_signal}, {"CloseStdin", &P::close_stdin},
  };
  const auto found = kMethods.find(name);
  return found == kMethods.end() ? nullptr : found->second;
}

Task<Status> ProcessService::list(EnvdCall& call, Rpc& rpc) {
  process::ListRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(const auto answer, co_await call.api.ask("GET", call.target("/commands")));
  process::ListResponse response;
  const auto commands = answer.value("commands", json::array());
  for (const auto& command : commands) {
    if (command.value("state", "") != "running") continue;
    auto& info = *response.add_processes();
    info = process_info(command);
    notes_.complete(call.sandbox.id, command.value("id", ""), *info.mutable_config());
  }
  co_return co_await rpc.answer(response);
}

Task<Status> ProcessService::start(EnvdCall& call, Rpc& rpc) {
  process::StartRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  StartContext context{call.sandbox, call.user_name(), call.sandbox.default_folder, {}, rpc.timeout()};
  if (!request.process().cwd().empty()) {
    HARENA_CO_TRY(context.cwd, co_await call.path(request.process().cwd()));
  }
  if (request.has_tag()) {
    HARENA_CO_TRY(context.op, tagged_op(request.tag(), random_.hex(kUniqueBytes)));
  }
  HARENA_CO_TRY(auto body, start_body(request, context));
  body["attach"] = true;
  HARENA_CO_TRY(const auto head, co_await call.api.open(call.target("/commands"), frames_wanted(), std::move(body)));
  if (head.status != 200) {
    auto error = co_await call.api.error_of(head);
    co_return start_error(std::move(error), call.api.reason(), request, context);
  }
  CommandOutput output(call.api);
  HARENA_CO_TRY(auto command, co_await read_started(output));
  command.pty = request.has_pty();
  command.takes_input = command.pty || !request.has_stdin() || request.stdin();
  notes_.keep(call.sandbox.id, command.id, request.process());
  process::StartResponse keepalive;
  keepalive.mutable_event()->mutable_keepalive();
  // The timeout is the command's own: its end comes as the stream's error, after what it printed until then.
  co_return co_await run_live(rpc, follow_command<process::StartResponse>(rpc, std::move(command), std::move(output)), keepalive, std::nullopt);
}

Task<Status> ProcessService::connect(EnvdCall& call, Rpc& rpc) {
  process::ConnectRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(const auto found, co_await find_command(call, request.process(), Wanted::running_or_just_ended));
  auto command = followed(found);
  HARENA_CO_TRY_STATUS(co_await open_output(call, command, found.value("stdout_bytes", std::uint64_t{0}),
                                            found.value("stderr_bytes", std::uint64_t{0})));
  CommandOutput output(call.api);
  process::ConnectResponse keepalive;
  keepalive.mutable_event()->mutable_keepalive();
  std::optional<std::chrono::milliseconds> deadline = rpc.timeout();
  if (deadline && deadline->count() == 0) deadline.reset();
  co_return co_await run_live(rpc, follow_command<process::ConnectResponse>(rpc, std::move(command), std::move(output)), keepalive, deadline);
}

Task<Status> ProcessService::update(EnvdCall& call, Rpc& rpc) {
  process::UpdateRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(const auto command, co_await find_command(call, request.process(), Wanted::running));
  process::UpdateResponse response;
  if (!request.has_pty()) co_return co_await rpc.answer(response);
  if (!command.value("pty", false)) co_return make_error(ErrorCode::failed_precondition, "the process has no terminal to resize");
  json size = json::object();
  size["rows"] = request.pty().size().rows();
  size["cols"] = request.pty().size().cols();
  HARENA_CO_TRY(const auto answer, co_await call.api.ask("POST", command_target(call, command, "/resize"), std::move(size)));
  co_return co_await rpc.answer(response);
}

Task<Status> ProcessService::stream_input(EnvdCall& call, Rpc& rpc) {
  process::StreamInputRequest request;
  std::optional<json> command;
  for (;;) {
    HARENA_CO_TRY(const bool some, co_await rpc.receive_next(request));
    if (!some) break;
    if (request.has_start()) {
      HARENA_CO_TRY(command, co_await find_command(call, request.start().process(), Wanted::running));
    } else if (request.has_data()) {
      if (!command) co_return make_error(ErrorCode::invalid_argument, "data before start: which process it is for isn't known");
      HARENA_CO_TRY_STATUS(co_await write_input(call, *command, request.data().input()));
    }
  }
  const process::StreamInputResponse response;
  co_return co_await rpc.send(response);
}

Task<Status> ProcessService::send_input(EnvdCall& call, Rpc& rpc) {
  process::SendInputRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(const auto command, co_await find_command(call, request.process(), Wanted::running));
  HARENA_CO_TRY_STATUS(co_await write_input(call, command, request.input()));
  const process::SendInputResponse response;
  co_return co_await rpc.answer(response);
}

Task<Status> ProcessService::send_signal(EnvdCall& call, Rpc& rpc) {
  process::SendSignalRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  json body = json::object();
  body["target"] = "group";
  if (request.signal() == process::SIGNAL_SIGKILL) body["signal"] = "KILL";
  else if (request.signal() == process::SIGNAL_SIGTERM) body["signal"] = "TERM";
  else co_return make_error(ErrorCode::unimplemented, "invalid signal: SIGNAL_SIGKILL and SIGNAL_SIGTERM are known");
  HARENA_CO_TRY(const auto command, co_await find_command(call, request.process(), Wanted::running));
  HARENA_CO_TRY(const auto answer, co_await call.api.ask("POST", command_target(call, command, "/signal"), std::move(body)));
  const process::SendSignalResponse response;
  co_return co_await rpc.answer(response);
}

Task<Status> ProcessService::close_stdin(EnvdCall& call, Rpc& rpc) {
  process::CloseStdinRequest request;
  HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
  HARENA_CO_TRY(const auto command, co_await find_command(call, request.process(), Wanted::running));
  if (command.value("pty", false)) {
    co_return make_error(ErrorCode::failed_precondition, "a terminal's stdin can't be closed; send its end-of-file character (4) instead");
  }
  ApiBody nothing;
  HARENA_CO_TRY(const auto answer, co_await call.api.send("POST", command_target(call, command, "/stdin?eof=true"), std::move(nothing)));
  const process::CloseStdinResponse response;
  co_return co_await rpc.answer(response);
}

}  // namespace harena::e2b
