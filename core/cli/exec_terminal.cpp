#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/cli/exec_session.hpp"
#include "core/cli/exit_code.hpp"
#include "core/cli/print.hpp"
#include "core/cli/terminal.hpp"
#include "sdk/client/attach.hpp"

namespace harena::cli {

namespace {

/// The loop between the user's terminal and the command's.
class TerminalSession {
 public:
  TerminalSession(client::Client& client, const ExecPlan& plan, const BlockedSignals& signals)
      : client_(client), commands_(client, plan.sandbox_id), signals_(signals) {}

  Result<client::ExitStatus> run(const std::string& command_id) {
    auto tries = client_.stream_attempts();
    while (true) {
      const auto before = received_;
      auto ended = attach_once(command_id);
      if (ended.ok()) return ended;
      if (ended.error().cause_detail != client::kConnectionLost) return ended;
      if (received_ > before) tries.reset();
      if (!tries.again(ended.error(), true)) return ended;
    }
  }

 private:
  Result<client::ExitStatus> attach_once(const std::string& command_id) {
    HARENA_TRY(const auto attachment, client::Attachment::open(client_, commands_, command_id, received_));
    HARENA_TRY_STATUS(attachment->send_resize(window_size()));
    while (true) {
      HARENA_TRY(const auto ended, step(*attachment, command_id));
      if (ended) return *ended;
    }
  }

  Result<std::optional<client::ExitStatus>> step(client::Attachment& attachment, const std::string& command_id) {
    std::array<pollfd, 3> waited = {pollfd{attachment.fd(), POLLIN, 0}, pollfd{signals_.fd(), POLLIN, 0},
                                    pollfd{input_open_ ? STDIN_FILENO : -1, POLLIN, 0}};
    if (!attachment.pending() && ::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) return errno_error(errno, "poll");
    if (waited[1].revents != 0) HARENA_TRY_STATUS(on_signal(attachment, command_id));
    if (waited[2].revents != 0) HARENA_TRY_STATUS(on_input(attachment));
    if (!attachment.pending() && waited[0].revents == 0) return std::optional<client::ExitStatus>();
    HARENA_TRY(const auto message, attachment.receive());
    if (!message) return std::optional<client::ExitStatus>();
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
    if (count > 0) return attachment.send_input({buffer.data(), static_cast<std::size_t>(count)});
    input_open_ = false;
    return attachment.send_eof();
  }

  client::Client& client_;
  client::Commands commands_;
  const BlockedSignals& signals_;
  std::int64_t received_ = 0;
  bool input_open_ = true;
};

Result<client::ExitStatus> run_raw(client::Client& client, const ExecPlan& plan, const BlockedSignals& signals) {
  HARENA_TRY(const auto raw, RawMode::enter());  // before anything is started: it says whether there is a terminal
  HARENA_TRY(const auto command, client::Commands(client, plan.sandbox_id).start(plan.request));
  return TerminalSession(client, plan, signals).run(client::text_or(command, "id"));
}

}  // namespace

Result<int> run_in_terminal(client::Client& client, ExecPlan plan, const BlockedSignals& signals) {
  plan.request.pty = window_size();
  plan.request.stdin_pipe = true;
  HARENA_TRY(const auto status, run_raw(client, plan, signals));  // the terminal is back to normal from here on
  if (const auto remark = remark_of(status); !remark.empty()) {
    HARENA_TRY_STATUS(write_all(STDERR_FILENO, "error: " + remark + "\n"));
  }
  return exit_code_of(status);
}

}  // namespace harena::cli
