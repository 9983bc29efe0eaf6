#include "plugins/e2b/envd/process/process_output.hpp"

#include "plugins/e2b/envd/process/process_start.hpp"
#include "sdk/http/error.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

constexpr std::size_t kOutputBlockBytes = 64 * 1024;
/// As large as E2B's: clients decode base64 of it in one piece.
constexpr std::size_t kChunkBytes = 32 * 1024;
constexpr std::size_t kTerminalChunkBytes = 16 * 1024;

Error stream_error(const std::string& payload) {
  auto error = http::parse_error(500, payload);
  // A sandbox that ended under the command is "gone" to E2B's clients, whatever the API calls it.
  const bool gone = error.code == ErrorCode::not_found || error.code == ErrorCode::failed_precondition || error.code == ErrorCode::aborted;
  if (gone) error.code = ErrorCode::unavailable;
  return error;
}

template <class Response>
class Follower {
 public:
  Follower(Rpc& rpc, FollowedCommand command, CommandOutput output)
      : rpc_(rpc), command_(std::move(command)), output_(std::move(output)) {}

  Task<Status> run() {
    Response started;
    started.mutable_event()->mutable_start()->set_pid(command_.pid);
    HARENA_CO_TRY_STATUS(rpc_.hold(started));
    if (command_.takes_input) HARENA_CO_TRY_STATUS(co_await rpc_.flush());
    for (;;) {
      auto frame = co_await output_.next();
      if (ended_ && (!frame || !*frame)) co_return ok_status();
      if (!frame) co_return std::move(frame).error();
      if (!*frame) co_return make_error(ErrorCode::unavailable, "the command's output broke off");
      HARENA_CO_TRY_STATUS(co_await take(**frame));
    }
  }

 private:
  Task<Status> take(const OutputFrame& frame) {
    switch (frame.kind) {
      case OutputFrame::Kind::out:
      case OutputFrame::Kind::err: co_return co_await send_data(frame);
      case OutputFrame::Kind::truncated: note_ = frame.payload + " is longer than the " + std::to_string(kKeptOutputBytes >> 20) + " MiB that are kept"; break;
      case OutputFrame::Kind::exit: co_return hold_end(frame);
      case OutputFrame::Kind::error:
      case OutputFrame::Kind::started:
      case OutputFrame::Kind::alive: break;
    }
    co_return ok_status();
  }

  Task<Status> send_data(const OutputFrame& frame) {
    const auto most = command_.pty ? kTerminalChunkBytes : kChunkBytes;
    for (std::size_t at = 0; at < frame.payload.size(); at += most) {
      Response message;
      auto& data = *message.mutable_event()->mutable_data();
      auto chunk = frame.payload.substr(at, most);
      if (command_.pty) data.set_pty(std::move(chunk));
      else if (frame.kind == OutputFrame::Kind::out) data.set_stdout(std::move(chunk));
      else data.set_stderr(std::move(chunk));
      HARENA_CO_TRY_STATUS(co_await rpc_.send(message));
    }
    co_return ok_status();
  }

  /// It goes out with the stream's own end, which comes at once: the API's answer ends behind it.
  Status hold_end(const OutputFrame& frame) {
    ended_ = true;
    const auto exit = json::parse(frame.payload, nullptr, false);
    HARENA_TRY(auto end, end_event(exit, note_));
    Response message;
    *message.mutable_event()->mutable_end() = std::move(end);
    return rpc_.hold(message);
  }

  Rpc& rpc_;
  FollowedCommand command_;
  CommandOutput output_;
  std::string note_;
  bool ended_ = false;
};

}  // namespace

http::Headers frames_wanted() {
  http::Headers headers;
  headers.add("Accept", "application/vnd.harena.frames");
  return headers;
}

Task<Result<std::optional<OutputFrame>>> CommandOutput::next() {
  if (block_.empty()) block_.resize(kOutputBlockBytes);
  const std::span<std::byte> all(block_);
  for (;;) {
    if (auto frame = frames_.next()) {
      if (frame->kind == OutputFrame::Kind::error) co_return stream_error(frame->payload);
      co_return std::move(frame);
    }
    HARENA_CO_TRY(const auto count, co_await api_.read(all));
    if (count == 0) co_return std::optional<OutputFrame>();
    frames_.add({reinterpret_cast<const char*>(block_.data()), count});
  }
}

Task<Result<FollowedCommand>> read_started(CommandOutput& output) {
  HARENA_CO_TRY(const auto frame, co_await output.next());
  const bool fits = frame && frame->kind == OutputFrame::Kind::started;
  const auto what = fits ? json::parse(frame->payload, nullptr, false) : json();
  if (!what.is_object()) co_return make_error(ErrorCode::internal, "the API's answer to a start doesn't begin with it");
  FollowedCommand command;
  command.id = what.value("id", "");
  command.pid = static_cast<std::uint32_t>(what.value("pid", std::int64_t{0}));
  co_return command;
}

Task<Status> open_output(EnvdCall& call, const FollowedCommand& command, std::uint64_t stdout_offset, std::uint64_t stderr_offset) {
  auto target = call.target("/commands/" + command.id + "/output?follow=true&stdout_offset=" + std::to_string(stdout_offset) +
                            "&stderr_offset=" + std::to_string(stderr_offset));
  HARENA_CO_TRY(const auto head, co_await call.api.open(std::move(target), frames_wanted()));
  if (head.status != 200) co_return co_await call.api.error_of(head);
  co_return ok_status();
}

template <class Response>
Task<Status> follow_command(Rpc& rpc, FollowedCommand command, CommandOutput output) {
  Follower<Response> follower(rpc, std::move(command), std::move(output));
  co_return co_await follower.run();
}

template Task<Status> follow_command<process::StartResponse>(Rpc&, FollowedCommand, CommandOutput);
template Task<Status> follow_command<process::ConnectResponse>(Rpc&, FollowedCommand, CommandOutput);

}  // namespace harena::e2b
