// run: started without waiting, then its output is read as it comes, so that progress can be told and nothing silent is cut.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include "plugins/mcp/tools/tool.hpp"
#include "sdk/base/text.hpp"
#include "sdk/http/error.hpp"

namespace harena::mcp {

using http::Task;
using nlohmann::json;

namespace {

constexpr std::size_t kMaxProgressText = 1024;
constexpr std::size_t kReadBytes = 64 * 1024;

struct Output {
  std::string out;
  std::string err;
  bool out_truncated = false;
  bool err_truncated = false;
  json exit = nullptr;
  std::int64_t seen_bytes = 0;
};

Result<json> command_body(const ToolCall& call) {
  if (call.has("command") == call.has("argv")) {
    return make_error(ErrorCode::invalid_argument, "one of command and argv is right, not both and not none");
  }
  json body = {{"output_limit_bytes", call.settings.max_output_bytes},
               {"timeout_ms", static_cast<std::int64_t>(call.arguments["timeout_s"].get<double>() * 1000)}};
  if (call.has("command")) body["shell"] = call.text("command");
  if (call.has("argv")) body["argv"] = call.arguments["argv"];
  for (const char* name : {"cwd", "user", "env"}) {
    if (call.has(name)) body[name] = call.arguments[name];
  }
  if (call.has("stdin")) body["stdin_data"] = call.text("stdin");
  return body;
}

/// Ends a command whose caller has gone before it had ended. A coroutine that is cancelled can't ask any more: another one does.
class EndWithClient {
 public:
  EndWithClient(const ToolCall& call, std::string target, boost::asio::any_io_executor executor)
      : call_(call), target_(std::move(target)), executor_(std::move(executor)) {}
  ~EndWithClient() {
    if (!call_.ends_with_client || ended_) return;
    auto work = [](frontend::ApiClient& api, std::string target, std::string token) -> Task<void> {
      (void)co_await api.ask("DELETE", std::move(target), std::move(token));
    };
    boost::asio::co_spawn(executor_, work(call_.api, target_, call_.token), boost::asio::detached);
  }
  EndWithClient(const EndWithClient&) = delete;
  EndWithClient& operator=(const EndWithClient&) = delete;
  void set_ended() { ended_ = true; }

 private:
  const ToolCall& call_;
  const std::string target_;
  const boost::asio::any_io_executor executor_;
  bool ended_ = false;
};

Result<std::string> bytes_of(const json& line) {
  if (line.contains("data")) return line["data"].get<std::string>();
  return base64_decode(line.value("data_b64", ""));
}

/// The end of it, from a whole character on.
std::string tail(const std::string& text) {
  std::size_t begin = text.size() > kMaxProgressText ? text.size() - kMaxProgressText : 0;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return text.substr(begin);
}

Task<Status> take_data(ToolCall& call, const json& line, Output& output) {
  HARENA_CO_TRY(const auto bytes, bytes_of(line));
  const bool is_out = line["stream"] == "stdout";
  (is_out ? output.out : output.err) += bytes;
  output.seen_bytes += static_cast<std::int64_t>(bytes.size());
  co_return co_await call.stream.progress(output.seen_bytes, tail(bytes));
}

Task<Status> take_line(ToolCall& call, const json& line, Output& output) {
  if (line.contains("stream")) co_return co_await take_data(call, line, output);
  if (line.contains("truncated")) {
    (line["truncated"] == "stdout" ? output.out_truncated : output.err_truncated) = true;
  } else if (line.contains("exit")) {
    output.exit = line["exit"];
  } else if (line.contains("error")) {
    co_return http::parse_error(500, line.dump());
  } else {
    co_return co_await call.stream.alive();
  }
  co_return ok_status();
}

Task<Status> take_lines(ToolCall& call, std::string& pending, Output& output) {
  std::size_t begin = 0;
  for (auto end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', begin)) {
    const auto line = json::parse(pending.substr(begin, end - begin), nullptr, false);
    begin = end + 1;
    if (!line.is_object()) co_return make_error(ErrorCode::internal, "a line of the output isn't JSON");
    HARENA_CO_TRY_STATUS(co_await take_line(call, line, output));
  }
  pending.erase(0, begin);
  co_return ok_status();
}

Task<Result<Output>> follow(ToolCall& call, std::string target) {
  frontend::ApiRequest request{.method = "GET", .target = std::move(target), .token = call.token};
  HARENA_CO_TRY(auto exchange, co_await call.api.send(std::move(request)));
  HARENA_CO_TRY(const auto head, co_await exchange->read_head());
  if (head.status >= 300) {
    HARENA_CO_TRY(const auto text, co_await exchange->read_all(kReadBytes));
    co_return http::parse_error(head.status, text);
  }
  Output output;
  std::string pending;
  std::vector<std::byte> buffer(kReadBytes);
  for (;;) {
    HARENA_CO_TRY(const auto count, co_await exchange->read_body(buffer));
    if (count == 0) break;
    pending.append(reinterpret_cast<const char*>(buffer.data()), count);
    HARENA_CO_TRY_STATUS(co_await take_lines(call, pending, output));
  }
  if (output.exit.is_null()) co_return make_error(ErrorCode::unavailable, "the command's output ended without its end");
  co_return output;
}

std::string text_of(const Output& output) {
  std::string text = output.out;
  if (output.out_truncated) text += "\n[stdout: more was printed and is left out]";
  if (!output.err.empty()) text += (text.empty() || text.ends_with('\n') ? "[stderr]\n" : "\n[stderr]\n") + output.err;
  if (output.err_truncated) text += "\n[stderr: more was printed and is left out]";
  const auto cause = output.exit.value("cause", "");
  const bool plain = cause == "exit" && output.exit.value("code", json(-1)) == 0;
  if (plain) return text.empty() ? "[no output, exit code 0]" : text;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  if (cause == "exit") return text + "[exit code " + output.exit["code"].dump() + "]";
  const json signal = output.exit.value("signal", json());
  return text + "[ended: " + cause + (signal.is_string() ? ", signal " + signal.get<std::string>() : std::string()) + "]";
}

ToolAnswer run_answer(const Output& output) {
  const auto cause = output.exit.value("cause", "");
  ToolAnswer answer;
  answer.content.push_back(text_block(text_of(output)));
  answer.structured = {{"exit_code", output.exit.value("code", json())}, {"signal", output.exit.value("signal", json())},
                       {"cause", cause}, {"stdout", output.out}, {"stderr", output.err},
                       {"stdout_truncated", output.out_truncated}, {"stderr_truncated", output.err_truncated},
                       {"duration_ms", output.exit.value("duration_ms", std::int64_t{0})}};
  answer.is_error = cause != "exit" && cause != "signal";
  return answer;
}

}  // namespace

ToolTask run_command(ToolCall& call) {
  HARENA_CO_TRY(auto body, command_body(call));
  HARENA_CO_TRY(const auto started, co_await call.ask("POST", call.sandbox("/commands"), std::move(body)));
  const std::string command = call.sandbox("/commands/" + percent_encode(started.at("id").get<std::string>()));
  call.under_way.set_undo(command);
  if (call.under_way.cancelled()) (void)co_await call.ask("DELETE", command);
  EndWithClient guard(call, command, co_await boost::asio::this_coro::executor);
  HARENA_CO_TRY(const auto output, co_await follow(call, command + "/output?follow=true"));
  guard.set_ended();
  co_return run_answer(output);
}

}  // namespace harena::mcp
