#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <utility>

#include "core/cli/exec_session.hpp"
#include "core/cli/exit_code.hpp"
#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/terminal.hpp"
#include "sdk/client/attach.hpp"

namespace harena::cli {

namespace {

/// How a session ends: the command has, or the user has left.
using Ended = std::optional<client::ExitStatus>;

/// Where in a command's output and input a session begins.
struct Position {
  std::int64_t output = 0;
  std::int64_t input = 0;
};

/// The last bytes that were typed, by their number from the command's start.
class TypedAhead {
 public:
  void begin_at(std::int64_t offset) { first_ = offset; }
  void add(std::string_view bytes) {
    bytes_ += bytes;
    if (bytes_.size() > kKeptBytes) drop(bytes_.size() - kKeptBytes);
  }
  /// All before `offset` has arrived.
  void taken(std::int64_t offset) {
    if (offset > first_) drop(std::min(bytes_.size(), static_cast<std::size_t>(offset - first_)));
  }
  const std::string& waiting() const { return bytes_; }

 private:
  static constexpr std::size_t kKeptBytes = 256 * 1024;
  void drop(std::size_t count) {
    bytes_.erase(0, count);
    first_ += static_cast<std::int64_t>(count);
  }
  std::string bytes_;
  std::int64_t first_ = 0;
};

/// The loop between the user's terminal and the command's.
class TerminalSession {
 public:
  TerminalSession(client::Client& client, const std::string& sandbox_id, const BlockedSignals& signals, DetachKeys keys)
      : client_(client), commands_(client, sandbox_id), signals_(signals), keys_(std::move(keys)) {}

  /// nullopt when the user has left.
  Result<Ended> run(const std::string& command_id, const Position& position) {
    received_ = position.output;
    typed_.begin_at(position.input);
    auto tries = client_.stream_attempts();
    while (true) {
      const auto before = received_;
      auto ended = attach_once(command_id);
      if (ended.ok()) return ended;
      if (received_ > before) tries.reset();
      if (!tries.again(ended.error(), true)) return ended;
    }
  }

 private:
  Result<Ended> attach_once(const std::string& command_id) {
    HARENA_TRY(const auto attachment, client::Attachment::open(client_, commands_, command_id, received_));
    HARENA_TRY_STATUS(attachment->send_resize(window_size()));
    if (std::exchange(attached_before_, true)) HARENA_TRY_STATUS(type_again(*attachment, command_id));
    while (true) {
      HARENA_TRY(const auto ended, step(*attachment, command_id));
      if (ended || detached_) return ended;
    }
  }

  /// What was typed into a connection that broke may not have got there: the command tells how much it has taken.
  Status type_again(client::Attachment& attachment, const std::string& command_id) {
    HARENA_TRY(const auto info, commands_.get(command_id));
    typed_.taken(info.value("stdin_bytes", std::int64_t{0}));
    if (!typed_.waiting().empty()) HARENA_TRY_STATUS(attachment.send_input(typed_.waiting()));
    return input_open_ ? ok_status() : attachment.send_eof();
  }

  Result<Ended> step(client::Attachment& attachment, const std::string& command_id) {
    std::array<pollfd, 3> waited = {pollfd{attachment.fd(), POLLIN, 0}, pollfd{signals_.fd(), POLLIN, 0},
                                    pollfd{input_open_ ? STDIN_FILENO : -1, POLLIN, 0}};
    if (!attachment.pending() && ::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) return errno_error(errno, "poll");
    if (waited[1].revents != 0) HARENA_TRY_STATUS(on_signal(attachment, command_id));
    if (waited[2].revents != 0) HARENA_TRY_STATUS(on_input(attachment));
    if (detached_) return Ended();
    if (!attachment.pending() && waited[0].revents == 0) return Ended();
    HARENA_TRY(const auto message, attachment.receive());
    if (!message) return Ended();
    received_ += static_cast<std::int64_t>(message->output.size());
    HARENA_TRY_STATUS(write_all(STDOUT_FILENO, message->output));
    return message->exit;
  }

  Status on_signal(client::Attachment& attachment, const std::string& command_id) {
    const int number = signals_.take();
    if (number == SIGWINCH) return attachment.send_resize(window_size());
    if (number == 0) return {};
    // The keys of a raw terminal aren't signals: this one was sent to us, or the terminal is gone. So is the session.
    HARENA_TRY_STATUS(commands_.signal(command_id, "HUP", "group"));
    if (number == SIGHUP) input_open_ = false;
    return {};
  }

  Status on_input(client::Attachment& attachment) {
    std::array<char, 4096> buffer;
    const auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return {};
    if (count > 0) {
      const auto typed = keys_.feed({buffer.data(), static_cast<std::size_t>(count)});
      detached_ = typed.detached;
      typed_.add(typed.forward);
      return typed.forward.empty() ? ok_status() : attachment.send_input(typed.forward);
    }
    input_open_ = false;
    return attachment.send_eof();
  }

  client::Client& client_;
  client::Commands commands_;
  const BlockedSignals& signals_;
  DetachKeys keys_;
  TypedAhead typed_;
  bool attached_before_ = false;
  std::int64_t received_ = 0;
  bool input_open_ = true;
  bool detached_ = false;
};

/// The session in raw mode; the terminal is back to normal when it returns.
Result<Ended> run_raw(client::Client& client, const std::string& sandbox_id, const BlockedSignals& signals, DetachKeys keys,
                      const std::function<Result<std::pair<std::string, Position>>()>& find_command, std::string& command_id) {
  HARENA_TRY(const auto raw, RawMode::enter());  // before anything is started: it says whether there is a terminal
  HARENA_TRY(auto found, find_command());
  command_id = std::move(found.first);
  return TerminalSession(client, sandbox_id, signals, std::move(keys)).run(command_id, found.second);
}

Result<int> finish(const std::string& command_id, const Ended& ended) {
  if (!ended) {
    HARENA_TRY_STATUS(write_all(STDERR_FILENO, "\ndetached: " + command_id + "\n"));
    return kExitOk;
  }
  if (const auto remark = remark_of(*ended); !remark.empty()) {
    HARENA_TRY_STATUS(write_all(STDERR_FILENO, "error: " + remark + "\n"));
  }
  return exit_code_of(*ended);
}

}  // namespace

Result<int> run_in_terminal(client::Client& client, ExecPlan plan, const BlockedSignals& signals, DetachKeys keys) {
  plan.request.pty = window_size();
  plan.request.stdin_pipe = true;
  const auto start = [&]() -> Result<std::pair<std::string, Position>> {
    HARENA_TRY(const auto command, client::Commands(client, plan.sandbox_id).start(plan.request));
    return std::pair(client::text_or(command, "id"), Position());
  };
  std::string id;
  HARENA_TRY(const auto ended, run_raw(client, plan.sandbox_id, signals, std::move(keys), start, id));
  return finish(id, ended);
}

Result<int> attach_terminal(client::Client& client, const std::string& sandbox_id, const std::string& command_id,
                            const BlockedSignals& signals, DetachKeys keys) {
  HARENA_TRY(const auto info, client::Commands(client, sandbox_id).get(command_id));
  if (!info.value("pty", false)) {
    return make_error(ErrorCode::invalid_argument, "command " + command_id + " has no terminal; 'harena logs -f' shows what it prints");
  }
  const auto here = [&]() -> Result<std::pair<std::string, Position>> {
    return std::pair(command_id, Position{info.value("stdout_bytes", std::int64_t{0}), info.value("stdin_bytes", std::int64_t{0})});
  };
  std::string id;
  HARENA_TRY(const auto ended, run_raw(client, sandbox_id, signals, std::move(keys), here, id));
  return finish(id, ended);
}

}  // namespace harena::cli
