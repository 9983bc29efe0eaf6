#include "core/api/session/whole_result.hpp"

#include "core/api/session/session_json.hpp"
#include "core/api/session/text_parts.hpp"

namespace harena {

using http::ResponseWriter;
using http::Task;
using nlohmann::json;
using session::OutputEvent;

namespace {

/// One stream as it came by.
struct Gathered {
  std::string held;
  std::uint64_t bytes = 0;
  Utf8Check utf8;
  bool truncated = false;

  bool is_held() const { return bytes == held.size(); }
  void add(std::string_view part) {
    bytes += part.size();
    utf8.add(part);
    if (bytes <= kHeldOutputBytes) {
      held += part;
    } else {
      std::string().swap(held);
    }
  }
};

struct Whole {
  Gathered out;
  Gathered err;
  session::ExitStatus exit;
};

/// Whether the request and the end tell all that the endpoint could: a question less for most commands. What it shows shortened, what
/// was started before under the same op, stdin, and streams that go on growing behind the end are asked for.
bool is_known(const session::Started& started, const session::StartRequest& request, const session::ExitStatus& exit) {
  std::size_t shown = request.shell.size();
  for (const auto& argument : request.argv) shown += argument.size();
  return !started.existing && !request.pty && request.stdin_mode == session::StdinMode::none && !exit.background &&
         shown <= session::kShownShellBytes;
}

session::CommandInfo info_of(const session::Started& started, const session::StartRequest& request, const session::ExitStatus& exit) {
  session::CommandInfo info;
  info.id = started.command;
  info.pid = started.pid;
  info.op = request.op;
  info.argv = request.argv;
  info.shell = request.shell;
  info.state = session::CommandState::exited;
  info.started_ms = exit.started_ms;
  info.stdout_bytes = exit.stdout_bytes;
  info.stderr_bytes = exit.stderr_bytes;
  info.stdout_kept = exit.stdout_kept;
  info.stderr_kept = exit.stderr_kept;
  info.on_disconnect = request.on_disconnect;
  info.exit = exit;
  return info;
}

Task<Status> follow(session::OutputReader& output, Whole& whole) {
  for (;;) {
    HARENA_CO_TRY(auto event, co_await output.next());
    if (event.kind == OutputEvent::Kind::end) co_return ok_status();
    auto& stream = event.stream == session::Stream::out ? whole.out : whole.err;
    if (event.kind == OutputEvent::Kind::output) stream.add(event.bytes);
    if (event.kind == OutputEvent::Kind::truncated) stream.truncated = true;
    if (event.kind == OutputEvent::Kind::exit) whole.exit = std::move(event.exit);
  }
}

struct Run {
  std::optional<session::AttachedCommand> attached;
  Whole whole;
};

Task<Status> run_to_end(Task<Result<session::AttachedCommand>> starting, Run& run) {
  HARENA_CO_TRY(auto attached, co_await std::move(starting));
  run.attached.emplace(std::move(attached));
  co_return co_await follow(run.attached->output, run.whole);
}

/// Writes one stream's member, read again from the spool: `,"stdout":"..."`.
class SpooledMember {
 public:
  SpooledMember(ResponseWriter& response, session::Stream stream, const Gathered& gathered)
      : response_(response), stream_(stream), gathered_(gathered), text_(gathered.utf8.valid()) {}

  Task<Status> write(session::SessionClient& client, std::string command, std::uint64_t other_end) {
    const std::string name = stream_ == session::Stream::out ? "stdout" : "stderr";
    HARENA_CO_TRY_STATUS(co_await put(",\"" + name + (text_ ? "" : "_b64") + "\":\""));
    session::AttachRequest attach;
    attach.command = std::move(command);
    attach.follow = false;
    (stream_ == session::Stream::out ? attach.stderr_offset : attach.stdout_offset) = other_end;
    HARENA_CO_TRY(auto output, co_await client.attach(attach));
    HARENA_CO_TRY_STATUS(co_await copy(output));
    std::string end;
    base64_.finish(end);
    co_return co_await put(end + "\"");
  }

 private:
  Task<Status> put(std::string text) { co_return co_await response_.write(text); }

  Task<Status> copy(session::OutputReader& output) {
    std::uint64_t left = gathered_.bytes;
    while (left > 0) {
      HARENA_CO_TRY(auto event, co_await output.next());
      if (event.kind == OutputEvent::Kind::end) co_return make_error(ErrorCode::data_loss, "the command's output got shorter");
      if (event.kind != OutputEvent::Kind::output || event.stream != stream_) continue;
      const auto part = std::string_view(event.bytes).substr(0, left);
      left -= part.size();
      std::string text;
      text_ ? append_json_text(text, part) : base64_.append(text, part);
      std::string().swap(event.bytes);
      HARENA_CO_TRY_STATUS(co_await response_.write(text));
    }
    co_return ok_status();
  }

  ResponseWriter& response_;
  session::Stream stream_;
  const Gathered& gathered_;
  bool text_;
  Base64Parts base64_;
};

http::Headers json_head() {
  http::Headers head;
  head.set("Content-Type", "application/json");
  return head;
}

/// Unless signs of life were before it.
Task<Status> write_first(ResponseWriter& response, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  if (response.begun()) co_return co_await response.write(bytes);
  auto head = json_head();
  co_return co_await response.begin_with(200, std::move(head), std::nullopt, bytes);
}

Task<Status> answer_at_once(ResponseWriter& response, const json& answer) {
  if (!response.begun()) co_return co_await response.send_json(200, answer);
  const std::string text = answer.dump();
  co_return co_await response.finish_with(std::as_bytes(std::span(text)));
}

Task<Status> answer_in_parts(ResponseWriter& response, session::SessionClient& client, json answer, const Whole& whole) {
  const std::string command = answer["id"];
  for (const auto* held : {&whole.out, &whole.err}) {
    if (held->is_held()) put_bytes(answer, held == &whole.out ? "stdout" : "stderr", held->held);
  }
  std::string head = answer.dump();
  head.pop_back();
  HARENA_CO_TRY_STATUS(co_await write_first(response, head));
  if (!whole.out.is_held()) {
    SpooledMember member(response, session::Stream::out, whole.out);
    HARENA_CO_TRY_STATUS(co_await member.write(client, command, whole.err.bytes));
  }
  if (!whole.err.is_held()) {
    SpooledMember member(response, session::Stream::err, whole.err);
    HARENA_CO_TRY_STATUS(co_await member.write(client, command, whole.out.bytes));
  }
  const std::string_view end = "}";
  HARENA_CO_TRY_STATUS(co_await response.write(end));
  co_return co_await response.finish();
}

}  // namespace

Task<Status> answer_whole_result(ResponseWriter& response, session::SessionClient& client,
                                 Task<Result<session::AttachedCommand>> starting, const session::StartRequest& request, SignsOfLife signs) {
  Run run;
  LiveAnswer waiting(response, std::move(signs));
  auto running = run_to_end(std::move(starting), run);
  auto head = json_head();
  HARENA_CO_TRY_STATUS(co_await waiting.wait_for(std::move(running), std::move(head)));
  const auto& attached = run.attached;
  const auto& whole = run.whole;
  auto info = info_of(attached->started, request, whole.exit);
  if (!is_known(attached->started, request, whole.exit)) {
    HARENA_CO_TRY(info, co_await client.info(attached->started.command));
    info.exit = whole.exit;
  }
  auto answer = to_json(info);
  answer["stdout_truncated"] = whole.out.truncated;
  answer["stderr_truncated"] = whole.err.truncated;
  if (!whole.out.is_held() || !whole.err.is_held()) co_return co_await answer_in_parts(response, client, std::move(answer), whole);
  put_bytes(answer, "stdout", whole.out.held);
  put_bytes(answer, "stderr", whole.err.held);
  co_return co_await answer_at_once(response, answer);
}

}  // namespace harena
