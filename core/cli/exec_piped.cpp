#include <unistd.h>

#include <atomic>

#include "core/cli/exec_session.hpp"
#include "core/cli/exit_code.hpp"
#include "core/cli/print.hpp"
#include "core/cli/stdin_pump.hpp"

namespace harena::cli {

namespace {

constexpr int kSignalsUntilKill = 3;

/// Passes signals of this program on to the command, over a connection of its own.
class SignalForwarder {
 public:
  SignalForwarder(const client::Client& client, const ExecPlan& plan, std::string command_id)
      : client_(client.clone()), commands_(*client_, plan.sandbox_id), command_id_(std::move(command_id)) {}

  void forward(int number) {
    if (number == SIGWINCH) return;
    // A command that has just ended can't be signalled, and needn't be.
    const auto ignored = ++count_ < kSignalsUntilKill ? commands_.signal(command_id_, signal_name(number), "group")
                                                      : commands_.signal(command_id_, "KILL", "tree");
  }

 private:
  std::unique_ptr<client::Client> client_;
  client::Commands commands_;
  std::string command_id_;
  int count_ = 0;  // of the watcher's thread only
};

Status show(const client::OutputEvent& event) {
  const bool err = event.stream == client::OutputEvent::Stream::err;
  if (event.truncated) {
    return write_all(STDERR_FILENO, std::string("note: ") + (err ? "stderr" : "stdout") + " reached its limit; the rest is dropped\n");
  }
  return write_all(err ? STDERR_FILENO : STDOUT_FILENO, event.data);
}

}  // namespace

Result<BlockedSignals> block_session_signals() {
  return BlockedSignals::block({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH});
}

Result<int> run_piped(client::Client& client, ExecPlan plan, const BlockedSignals& signals) {
  client::Commands commands(client, plan.sandbox_id);
  HARENA_TRY(const auto command, commands.start(plan.request));
  const auto id = client::text_or(command, "id");
  SignalForwarder forwarder(client, plan, id);
  const SignalWatcher watcher(signals, [&](int number) { forwarder.forward(number); });
  std::unique_ptr<StdinPump> pump;
  if (plan.request.stdin_pipe) {
    HARENA_TRY(pump, StdinPump::start(client, plan.sandbox_id, id));
  }
  const auto status = commands.follow(id, {}, show);
  if (!status.ok() && status.error().code == ErrorCode::cancelled) {
    const auto ignored = commands.signal(id, "PIPE", "group");  // as a local pipeline would
  }
  if (pump) pump->stop();
  if (!status.ok()) return status.error();
  if (pump && pump->error()) return *pump->error();
  if (const auto remark = remark_of(*status); !remark.empty()) {
    HARENA_TRY_STATUS(write_all(STDERR_FILENO, "error: " + remark + "\n"));
  }
  return exit_code_of(*status);
}

}  // namespace harena::cli
