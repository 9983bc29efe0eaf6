// Start, list, look at, forget, signal, resize.

#include <csignal>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "core/api/session/handlers.hpp"
#include "core/api/session/output_stream.hpp"
#include "core/api/session/session_json.hpp"
#include "core/api/session/whole_result.hpp"
#include "sdk/base/text.hpp"

namespace harena {

using http::Request;
using http::ResponseWriter;
using http::Task;
using nlohmann::json;

namespace {

/// How long DELETE waits for what it killed.
constexpr std::uint64_t kDeathWaitMs = 5'000;

/// Writes from the command's first byte on: after a repeated start under the same op, what it has is skipped.
Task<void> feed(SessionLink link, std::string command, std::string data) {
  session::StdinRequest request;
  request.command = std::move(command);
  request.offset = 0;
  auto stream = co_await link.client.open_stdin(request);
  // A command that ended, or closed its stdin, has had what it wanted.
  if (!stream) co_return;
  auto written = co_await stream->write(data);
  if (written) (void)co_await stream->end();
}

Task<void> feed_beside(const SessionLink& link, const std::string& command, std::optional<std::string>& data) {
  if (!data) co_return;
  auto executor = co_await boost::asio::this_coro::executor;
  boost::asio::co_spawn(executor, feed(link, command, std::move(*data)), boost::asio::detached);
}

/// The input goes along with the start where there is room for it: then the endpoint has it, and it arrives whatever becomes of
/// this process. What is longer is fed from here.
void send_input_along(StartBody& body) {
  if (!body.stdin_data || body.stdin_data->size() + body.request.shell.size() > session::kMaxStdinDataBytes) return;
  body.request.stdin_data = *std::exchange(body.stdin_data, std::nullopt);
}

/// True when the endpoint is of a release that can't take it along: it is fed as before.
bool take_input_back(const Error& error, StartBody& body) {
  if (error.code != ErrorCode::unimplemented || body.request.stdin_data.empty()) return false;
  body.stdin_data = std::exchange(body.request.stdin_data, {});
  return true;
}

/// Returns with the command's start, or later: with its first output or its end.
Task<Result<session::AttachedCommand>> start_attached(SessionLink& link, StartBody& body) {
  // Whoever waits for the end alone needs to know of the start only to feed it.
  body.request.late_started = !body.attach && !body.stdin_data;
  auto begun = co_await link.client.start_attached(body.request);
  if (!begun && take_input_back(begun.error(), body)) begun = co_await link.client.start_attached(body.request);
  if (begun) co_await feed_beside(link, begun->started.command, body.stdin_data);
  co_return begun;
}

/// Answers with the whole result, or with what it prints as it prints it.
Task<Status> start_and_follow(const Request& request, ResponseWriter& response, SessionLink link, StartBody body) {
  auto starting = start_attached(link, body);
  if (body.wait) co_return co_await answer_whole_result(response, link.client, std::move(starting), body.request);
  HARENA_CO_TRY(auto attached, co_await std::move(starting));
  OutputWish wish;
  wish.started = attached.started;
  co_return co_await answer_output(request, response, attached.output, std::move(wish));
}

Error explain_size(Error error) {
  if (error.code != ErrorCode::resource_exhausted) return error;
  error.message += "; a longer input goes with \"stdin\": \"pipe\" and .../stdin, which has no limit, a longer script as a file";
  return error;
}

}  // namespace

Task<Status> start_command(Request& request, ResponseWriter& response, SessionConnector& connector) {
  auto read = co_await read_json(request, kMaxStartBodyBytes);
  if (!read) co_return explain_size(std::move(read).error());
  const auto text = *std::move(read);
  HARENA_CO_TRY(auto body, parse_start(text));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  if (body.request.cwd.empty() && body.request.user.empty()) body.request.cwd = link.default_cwd;
  // The image's user may be a name, and the sandbox says what names mean.
  if (body.request.user.empty() && !body.request.trusted_tools) body.request.user = link.default_user;
  send_input_along(body);
  if (body.wait || body.attach) co_return co_await start_and_follow(request, response, std::move(link), std::move(body));
  auto begun = co_await link.client.start(body.request);
  if (!begun && take_input_back(begun.error(), body)) begun = co_await link.client.start(body.request);
  HARENA_CO_TRY(auto started, std::move(begun));
  co_await feed_beside(link, started.command, body.stdin_data);
  HARENA_CO_TRY(auto info, co_await link.client.info(started.command));
  co_return co_await response.send_json(started.existing ? 200 : 201, to_json(info));
}

Task<Status> list_commands(Request&, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY(auto commands, co_await link.client.list());
  json all = json::array();
  for (const auto& command : commands) all.push_back(to_json(command));
  json answer = json::object();
  answer["commands"] = std::move(all);
  co_return co_await response.send_json(200, answer);
}

Task<Status> get_command(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY(auto info, co_await link.client.info(request.param("cid")));
  co_return co_await response.send_json(200, to_json(info));
}

Task<Status> forget_command(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto link, co_await connector.connect());
  const std::string command = request.param("cid");
  auto killed = co_await link.client.signal(command, SIGKILL, session::SignalTarget::tree);
  // Dead when the answer arrives, not only told to die. A death that takes longer goes on without us.
  if (killed.ok()) (void)co_await link.client.wait(command, kDeathWaitMs);
  HARENA_CO_TRY_STATUS(co_await link.client.forget(command));
  co_return co_await response.send_json(200, json::object());
}

Task<Status> signal_command(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto body, co_await read_json(request));
  JsonFields fields(body, "the signal");
  HARENA_CO_TRY(auto name, fields.string("signal", "TERM"));
  HARENA_CO_TRY(auto where, fields.string("target", "process"));
  HARENA_CO_TRY_STATUS(fields.finish());
  HARENA_CO_TRY(auto number, parse_signal(name));
  auto target = where == "tree" ? session::SignalTarget::tree : where == "group" ? session::SignalTarget::group : session::SignalTarget::process;
  if (target == session::SignalTarget::process && where != "process") {
    co_return make_error(ErrorCode::invalid_argument, "'target' is '" + where + "'; it must be 'process', 'group' or 'tree'");
  }
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY_STATUS(co_await link.client.signal(request.param("cid"), number, target));
  co_return co_await response.send_json(200, json::object());
}

Task<Status> resize_command(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto body, co_await read_json(request));
  JsonFields fields(body, "the size");
  HARENA_CO_TRY(auto rows, fields.integer("rows", 0, 1, 65535));
  HARENA_CO_TRY(auto cols, fields.integer("cols", 0, 1, 65535));
  HARENA_CO_TRY_STATUS(fields.finish());
  if (rows == 0 || cols == 0) co_return make_error(ErrorCode::invalid_argument, "'rows' and 'cols' are required");
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY_STATUS(co_await link.client.resize(request.param("cid"), static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(cols)));
  co_return co_await response.send_json(200, json::object());
}

Task<Status> write_stdin(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  HARENA_CO_TRY(auto eof, parse_bool(query, "eof", false));
  session::StdinRequest open;
  open.command = request.param("cid");
  if (query.contains("offset")) {
    HARENA_CO_TRY(open.offset, parse_number(query, "offset", 0));
  }
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY(auto stream, co_await link.client.open_stdin(open));
  std::vector<std::byte> buffer(64 << 10);
  for (;;) {
    HARENA_CO_TRY(auto got, co_await request.read(buffer));
    if (got == 0) break;
    HARENA_CO_TRY_STATUS(co_await stream.write(std::string_view(reinterpret_cast<const char*>(buffer.data()), got)));
  }
  HARENA_CO_TRY_STATUS(co_await stream.flush());
  std::uint64_t accepted = stream.acked();
  if (eof) HARENA_CO_TRY_STATUS(co_await stream.end());
  json answer = json::object();
  answer["accepted"] = accepted;
  co_return co_await response.send_json(200, answer);
}

}  // namespace harena
