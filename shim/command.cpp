#include "shim/command.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "shim/fault.hpp"

namespace harena::shim {

using session::CommandState;
using session::ExitCause;

namespace {

std::string folder_of(const Sandbox& sandbox, const std::string& id) {
  return sandbox.options().run_dir + "/commands/" + id;
}

std::shared_ptr<Spool> make_spool(const CommandHost& host, std::string path, std::uint64_t limit_bytes) {
  return std::make_shared<Spool>(std::move(path), limit_bytes, host.budget, host.sandbox.null_fd());
}

}  // namespace

Command::Command(CommandHost host, std::string id, session::StartRequest request, std::uint64_t mark)
    : host_(host), id_(std::move(id)), request_(std::move(request)), mark_(mark),
      out_(make_spool(host, folder_of(host.sandbox, id_) + ".out", request_.output_limit_bytes)),
      err_(make_spool(host, folder_of(host.sandbox, id_) + ".err", request_.output_limit_bytes)),
      out_pump_(host.loop, out_), err_pump_(host.loop, err_), input_(host.loop) {}

Command::~Command() {
  for (auto* timer : {&spawn_timer_, &timeout_timer_, &no_output_timer_, &quiet_timer_, &drain_timer_, &kill_timer_, &group_timer_}) {
    host_.loop.cancel(*timer);
  }
  host_.loop.forget(report_watch_);
}

void Command::on_output() {
  auto self = shared_from_this();
  fault_point(host_.sandbox.options().run_dir, "output");
  last_output_ns_ = host_.loop.clock().monotonic_ns();
  const auto& over = out_->truncated() ? out_ : err_;
  if (over->truncated() && request_.on_output_limit == session::OnOutputLimit::kill) {
    bool disk = over->limited_by() == "disk";
    kill(disk ? ExitCause::disk : ExitCause::output_limit, disk ? "spool" : over->limited_by());
  }
  notify();
  if (death_ && !exit_) consider_end();
}

Status Command::signal(int signal, session::SignalTarget target) {
  if (signal < 1 || signal > 64) {
    return make_error(ErrorCode::invalid_argument, "signal " + std::to_string(signal) + ": 1 to 64");
  }
  auto gone = make_error(ErrorCode::failed_precondition, "command '" + id_ + "' has ended");
  if (target == session::SignalTarget::tree) {
    if (!group_ || (ended() && output_closed() && group_->empty())) return gone;
    if (signal == SIGKILL) return kill(ExitCause::killed), ok_status();
    return group_->signal_all(signal), ok_status();
  }
  if (child_ < 0 || state_ != CommandState::running) return gone;
  if (::kill(target == session::SignalTarget::group ? -child_ : child_, signal) != 0) return errno_error(errno, "signalling command '" + id_ + "'");
  return {};
}

Status Command::resize(std::uint16_t rows, std::uint16_t cols) {
  if (!pty_) return make_error(ErrorCode::failed_precondition, "command '" + id_ + "' has no PTY, or has ended");
  winsize size{rows, cols, 0, 0};
  if (::ioctl(pty_.get(), TIOCSWINSZ, &size) != 0) return errno_error(errno, "resizing the PTY");
  return {};
}

void Command::claim_input(const void* owner, std::function<void()> replaced) {
  auto old = std::exchange(input_replaced_, std::move(replaced));
  input_owner_ = owner;
  input_.stop_waiting();
  if (old) old();
}

void Command::release_input(const void* owner) {
  if (input_owner_ != owner) return;
  input_owner_ = nullptr;
  input_replaced_ = nullptr;
  input_.stop_waiting();
}

void Command::notify() {
  auto listeners = listeners_;
  for (auto* listener : listeners) {
    if (listeners_.count(listener) != 0) listener->on_command();
  }
}

session::CommandInfo Command::info() const {
  session::CommandInfo info;
  info.id = id_;
  info.op = request_.op;
  info.argv = request_.argv;
  info.shell = request_.shell.substr(0, session::kShownShellBytes);
  info.state = state_;
  info.pid = inner_pid_;
  info.started_ms = started_ms_;
  info.stdout_bytes = out_->total();
  info.stderr_bytes = err_->total();
  info.stdout_kept = out_->kept();
  info.stderr_kept = err_->kept();
  info.stdin_bytes = input_.taken();
  info.pty = request_.pty;
  info.stdin_open = input_.is_open();
  info.on_disconnect = request_.on_disconnect;
  info.exit = exit_;
  return info;
}

}  // namespace harena::shim
