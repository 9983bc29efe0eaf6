#include "plugins/e2b/envd/process/process_output.hpp"

#include <memory>
#include <vector>

#include "plugins/e2b/envd/process/process_event.hpp"
#include "plugins/e2b/envd/process/process_start.hpp"
#include "sdk/http/error.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;
/// As large as E2B's: clients decode base64 of it in one piece.
constexpr std::size_t kChunkBytes = 32 * 1024;
constexpr std::size_t kTerminalChunkBytes = 16 * 1024;

template <class Response>
class Follower {
 public:
  Follower(EnvdCall& call, Rpc& rpc, FollowedCommand command) : call_(call), rpc_(rpc), command_(std::move(command)) {}

  Task<Status> run() {
    Response started;
    started.mutable_event()->mutable_start()->set_pid(command_.pid);
    HARENA_CO_TRY_STATUS(co_await rpc_.send(started));
    HARENA_CO_TRY_STATUS(co_await open());
    co_return co_await copy();
  }

 private:
  Task<Status> open() {
    http::Headers headers;
    headers.add("Accept", "application/vnd.harena.frames");
    auto target = call_.target("/commands/" + command_.id + "/output?follow=true&stdout_offset=" + std::to_string(command_.stdout_offset) +
                               "&stderr_offset=" + std::to_string(command_.stderr_offset));
    HARENA_CO_TRY(const auto head, co_await call_.api.open(std::move(target), std::move(headers)));
    if (head.status != 200) co_return co_await call_.api.error_of(head);
    co_return ok_status();
  }

  Task<Status> copy() {
    std::vector<std::byte> block(kBlockBytes);
    const std::span<std::byte> all(block);
    for (;;) {
      HARENA_CO_TRY(const auto count, co_await call_.api.read(all));
      if (count == 0) co_return make_error(ErrorCode::unavailable, "the command's output broke off");
      frames_.add({reinterpret_cast<const char*>(block.data()), count});
      while (auto frame = frames_.next()) {
        HARENA_CO_TRY_STATUS(co_await take(*frame));
        if (ended_) co_return ok_status();
      }
    }
  }

  Task<Status> take(const OutputFrame& frame) {
    switch (frame.kind) {
      case OutputFrame::Kind::out:
      case OutputFrame::Kind::err: co_return co_await send_data(frame);
      case OutputFrame::Kind::truncated: note_ = frame.payload + " is longer than the " + std::to_string(kKeptOutputBytes >> 20) + " MiB that are kept"; break;
      case OutputFrame::Kind::exit: co_return co_await send_end(frame);
      case OutputFrame::Kind::error: co_return stream_error(frame.payload);
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

  Task<Status> send_end(const OutputFrame& frame) {
    ended_ = true;
    const auto exit = json::parse(frame.payload, nullptr, false);
    HARENA_CO_TRY(auto end, end_event(exit, note_));
    Response message;
    *message.mutable_event()->mutable_end() = std::move(end);
    co_return co_await rpc_.send(message);
  }

  static Status stream_error(const std::string& payload) {
    auto error = http::parse_error(500, payload);
    // A sandbox that ended under the command is "gone" to E2B's clients, whatever the API calls it.
    const bool gone = error.code == ErrorCode::not_found || error.code == ErrorCode::failed_precondition || error.code == ErrorCode::aborted;
    if (gone) error.code = ErrorCode::unavailable;
    return error;
  }

  EnvdCall& call_;
  Rpc& rpc_;
  FollowedCommand command_;
  OutputFrames frames_;
  std::string note_;
  bool ended_ = false;
};

}  // namespace

template <class Response>
Task<Status> follow_command(EnvdCall& call, Rpc& rpc, FollowedCommand command) {
  Follower<Response> follower(call, rpc, std::move(command));
  co_return co_await follower.run();
}

template Task<Status> follow_command<process::StartResponse>(EnvdCall&, Rpc&, FollowedCommand);
template Task<Status> follow_command<process::ConnectResponse>(EnvdCall&, Rpc&, FollowedCommand);

}  // namespace harena::e2b
