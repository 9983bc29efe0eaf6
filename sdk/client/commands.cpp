#include "sdk/client/commands.hpp"

#include "sdk/base/text.hpp"

namespace harena::client {

namespace {

/// The server sends a sign of life every 15 s.
constexpr std::chrono::seconds kSilence{40};

Status check_text(std::string_view text, const std::string& what) {
  if (is_utf8(text)) return {};
  return make_error(ErrorCode::invalid_argument, what + " isn't UTF-8 ('" + percent_encode(text) +
                                                     "' in percent-encoding); put such bytes in a file or send them on stdin");
}

Result<json> body_of(const CommandRequest& request) {
  json body = json::object();
  if (request.shell) {
    HARENA_TRY_STATUS(check_text(*request.shell, "the shell text"));
    body["shell"] = *request.shell;
  } else {
    body["argv"] = json::array();
    for (const auto& argument : request.argv) {
      HARENA_TRY_STATUS(check_text(argument, "argument " + std::to_string(body["argv"].size())));
      body["argv"].push_back(argument);
    }
  }
  for (const auto& [name, value] : request.env) {
    HARENA_TRY_STATUS(check_text(value, "the value of " + name));
    body["env"][name] = value;
  }
  if (!request.cwd.empty()) body["cwd"] = request.cwd;
  if (!request.user.empty()) body["user"] = request.user;
  if (request.stdin_pipe) body["stdin"] = "pipe";
  if (request.pty) body["pty"] = {{"rows", request.pty->rows}, {"cols", request.pty->cols}};
  if (request.timeout_ms > 0) body["timeout_ms"] = request.timeout_ms;
  if (!request.on_disconnect.empty()) body["on_disconnect"] = request.on_disconnect;
  if (request.trusted_tools) body["trusted_tools"] = true;
  body["op"] = request.op;
  return body;
}

/// The event's bytes behind `offset`, which it moves; empty for what was seen before.
Result<std::string> fresh_bytes(const json& event, std::int64_t& offset) {
  auto data = get_bytes(event, "data").value_or("");
  const auto at = event.value("offset", std::int64_t{0});
  if (at > offset) {
    return make_error(ErrorCode::data_loss, "the output goes on at byte " + std::to_string(at) + ", but " +
                                                std::to_string(offset) + " is next: bytes are missing");
  }
  data.erase(0, static_cast<std::size_t>(std::min<std::int64_t>(offset - at, static_cast<std::int64_t>(data.size()))));
  offset += static_cast<std::int64_t>(data.size());
  return data;
}

OutputEvent::Stream stream_of(const std::string& name) {
  return name == "stderr" ? OutputEvent::Stream::err : OutputEvent::Stream::out;
}

}  // namespace

ExitStatus ExitStatus::from_json(const json& body) {
  ExitStatus status;
  if (const auto code = body.find("code"); code != body.end() && code->is_number_integer()) status.code = code->get<int>();
  status.signal = text_or(body, "signal");
  status.cause = text_or(body, "cause", "exit");
  status.raw = body;
  return status;
}

Commands::Commands(Client& client, std::string sandbox_id)
    : client_(client), path_("/sandboxes/" + segment(sandbox_id) + "/commands") {}

Result<json> Commands::start(CommandRequest request) {
  if (request.op.empty()) request.op = client_.unique_key();
  HARENA_TRY(const auto body, body_of(request));
  return client_.post(path_, body, true);
}

Result<json> Commands::list() {
  HARENA_TRY(const auto answer, client_.get(path_));
  return answer.value("commands", json::array());
}

Result<json> Commands::get(const std::string& id) { return client_.get(path_of(id)); }

Result<ExitStatus> Commands::follow(const std::string& id, OutputOffsets offsets,
                                    const std::function<Status(const OutputEvent&)>& on_output) {
  auto tries = client_.stream_attempts();
  while (true) {
    const auto before = offsets.out + offsets.err;
    auto ended = read_once(id, offsets, true, on_output);
    if (ended.ok() && *ended) return **std::move(ended);
    const auto error = ended.ok() ? infrastructure_error(ErrorCode::unavailable, kConnectionLost,
                                                         "the output stream ended without an exit status")
                                  : std::move(ended).error();
    if (offsets.out + offsets.err > before) tries.reset();
    if (!tries.again(error, true)) return error;
  }
}

Result<std::optional<ExitStatus>> Commands::dump(const std::string& id,
                                                 const std::function<Status(const OutputEvent&)>& on_output) {
  OutputOffsets offsets;
  return read_once(id, offsets, false, on_output);
}

Result<std::optional<ExitStatus>> Commands::read_once(const std::string& id, OutputOffsets& offsets, bool follow,
                                                      const std::function<Status(const OutputEvent&)>& on_output) {
  Request request{.target = path_of(id) + "/output" +
                            query({{"stdout_offset", std::to_string(offsets.out)},
                                   {"stderr_offset", std::to_string(offsets.err)},
                                   {"follow", follow ? "true" : "false"}})};
  request.read_timeout = kSilence;
  std::optional<ExitStatus> ended;
  const auto on_event = [&](const json& event) -> Status {
    if (event.contains("exit")) {
      ended = ExitStatus::from_json(event["exit"]);
    } else if (event.contains("error")) {
      return error_from_json(event["error"], 0);
    } else if (event.contains("truncated")) {
      return on_output({stream_of(text_or(event, "truncated")), "", true});
    } else if (event.contains("stream")) {
      const auto stream = stream_of(text_or(event, "stream"));
      HARENA_TRY(auto data, fresh_bytes(event, stream == OutputEvent::Stream::out ? offsets.out : offsets.err));
      if (!data.empty()) return on_output({stream, std::move(data), false});
    }
    return {};
  };
  const auto status = client_.events(request, on_event);
  if (ended) return ended;  // all was said, however the connection closed
  if (!status.ok()) return status.error();
  return ended;
}

Result<std::int64_t> Commands::write_stdin(const std::string& id, std::string_view data, std::int64_t offset, bool eof) {
  Request request{.method = "POST",
                  .target = path_of(id) + "/stdin" + query({{"offset", std::to_string(offset)}, {"eof", eof ? "true" : ""}})};
  request.content_type = "application/octet-stream";
  request.body = data;
  while (true) {
    auto answer = client_.go_on(request);
    if (answer.ok()) return answer->value("accepted", offset);
    // A command that doesn't read may take any time; asking again finds out whether the server is there.
    if (answer.error().code != ErrorCode::deadline_exceeded || answer.error().cause_detail != kConnectionLost) {
      return std::move(answer).error();
    }
  }
}

Status Commands::signal(const std::string& id, const std::string& name, const std::string& target) {
  HARENA_TRY_STATUS(client_.post(path_of(id) + "/signal", {{"signal", name}, {"target", target}}, false));
  return {};
}

Status Commands::forget(const std::string& id) {
  HARENA_TRY_STATUS(client_.remove(path_of(id)));
  return {};
}

}  // namespace harena::client
