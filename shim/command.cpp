#include "shim/command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "sdk/session/hello.hpp"
#include "shim/command_child.hpp"
#include "shim/fault.hpp"

namespace harena::shim {

using session::CommandState;
using session::ExitCause;
using session::StdinMode;

namespace {

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error(errno, "pipe");
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
}

Error memory_error() {
  Error limit = make_error(ErrorCode::resource_exhausted, "the sandbox's memory was full: the OOM killer ended the new process before it could run its command");
  limit.cause = Cause::limit;
  limit.cause_detail = "memory";
  limit.retry = Retry::same_node;
  return limit;
}

std::string folder_of(const Sandbox& sandbox, const std::string& id) {
  return sandbox.options().run_dir + "/commands/" + id;
}

}  // namespace

Command::Command(CommandHost host, std::string id, session::StartRequest request, std::uint64_t mark)
    : host_(host), id_(std::move(id)), request_(std::move(request)), mark_(mark),
      out_(std::make_shared<Spool>(folder_of(host.sandbox, id_) + ".out", request_.output_limit_bytes, host.budget, host.sandbox.null_fd())),
      err_(std::make_shared<Spool>(folder_of(host.sandbox, id_) + ".err", request_.output_limit_bytes, host.budget, host.sandbox.null_fd())),
      out_pump_(host.loop, out_), err_pump_(host.loop, err_), input_(host.loop) {}

Command::~Command() {
  for (auto* timer : {&spawn_timer_, &timeout_timer_, &no_output_timer_, &quiet_timer_, &drain_timer_, &kill_timer_, &group_timer_}) {
    host_.loop.cancel(*timer);
  }
  host_.loop.forget(report_watch_);
}

Result<Command::Pipes> Command::make_pipes() const {
  Pipes pipes;
  if (request_.pty) return pipes;
  HARENA_TRY(auto out, make_pipe());
  HARENA_TRY(auto err, make_pipe());
  std::tie(pipes.out_ours, pipes.out_child) = std::move(out);
  std::tie(pipes.err_ours, pipes.err_child) = std::move(err);
  if (request_.stdin_mode == StdinMode::pipe) {
    HARENA_TRY(auto in, make_pipe());
    std::tie(pipes.in_child, pipes.in_ours) = std::move(in);
  }
  return pipes;
}

Status Command::start() {
  HARENA_TRY_STATUS(host_.sandbox.check_room_for_process());
  auto made = make_pipes();
  auto ends = made ? make_report_channel() : Result<std::pair<UniqueFd, UniqueFd>>(made.error());
  if (!ends) return infrastructure_error(ErrorCode::resource_exhausted, "descriptors", "the sandbox's shim: " + ends.error().message);
  auto pipes = *std::move(made);
  auto channel = *std::move(ends);
  HARENA_TRY(group_, ProcessSet::create(host_.leaves, mark_));
  before_ = count(host_.sandbox.counters());
  started_ms_ = host_.loop.clock().wall_ms();
  ChildStdio stdio{pipes.in_child.get(), pipes.out_child.get(), pipes.err_child.get()};
  const auto& run_dir = host_.sandbox.options().run_dir;
  fault_point(run_dir, "spawn.before");
  HARENA_TRY_STATUS(host_.spawner.spawn(request_, {stdio, channel.second.get(), group_->cgroup_fd(), group_->mark()}));
  fault_point(run_dir, "spawn.after");
  unborn_ = true;
  host_.reaper.expect();
  report_ = std::move(channel.first);
  // Until it closes: whatever becomes of this record meanwhile, the process must be known.
  report_watch_ = host_.loop.watch(report_.get(), EPOLLIN, [this, self = shared_from_this()](std::uint32_t) { read_reports(); });
  spawn_timer_ = host_.loop.after_ms(kSpawnTimeoutMs, [this] {
    on_spawn_failed(make_error(ErrorCode::deadline_exceeded, "the new process didn't get to exec within 30 s; something in the sandbox stopped it"));
  });
  open_streams(pipes);
  return {};
}

void Command::open_streams(Pipes& pipes) {
  if (request_.pty) return;
  out_pump_.open(std::move(pipes.out_ours), false, [this] { on_output(); });
  err_pump_.open(std::move(pipes.err_ours), false, [this] { on_output(); });
  if (pipes.in_ours) input_.open(std::move(pipes.in_ours), false);
}

void Command::open_pty(UniqueFd master) {
  pty_ = UniqueFd(::fcntl(master.get(), F_DUPFD_CLOEXEC, 3));
  input_.open(UniqueFd(::fcntl(master.get(), F_DUPFD_CLOEXEC, 3)), true);
  if (!pty_ || !input_.is_open() || !master) {
    return on_spawn_failed(infrastructure_error(ErrorCode::resource_exhausted, "descriptors", "the sandbox's shim has no descriptor left for a PTY"));
  }
  out_pump_.open(std::move(master), true, [this] { on_output(); });
  if (request_.stdin_mode == StdinMode::none) input_.end();
}

void Command::read_reports() {
  auto self = shared_from_this();
  while (report_) {
    auto report = receive_report(report_.get());
    if (report.kind == Report::again) return;
    take_report(std::move(report));
  }
}

void Command::take_report(ReportMessage report) {
  switch (report.kind) {
    case Report::pid:
      if (report.body.size() == 8) inner_pid_ = static_cast<std::int64_t>(session::get_u64(report.body.data()));
      return;
    case Report::born:
      if (report.body.size() == 8) on_born(static_cast<pid_t>(session::get_u64(report.body.data())));
      return;
    case Report::pty: return open_pty(std::move(report.fd));
    case Report::error: return on_spawn_failed(session::decode_error(report.body));
    default: break;
  }
  on_channel_closed();
}

void Command::on_born(pid_t pid) {
  fault_point(host_.sandbox.options().run_dir, "spawn.born");
  child_.pid = pid;
  // Nobody else waits for it, so the number is its own; ESRCH when the reaper has: then its death is on the way here.
  child_.pidfd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  host_.reaper.on_death(pid, [self = shared_from_this()](const Death& death) { self->on_main_death(death); });
  if (std::exchange(unborn_, false)) host_.reaper.settled();
}

/// By exec, or because the process died before it, or there was none.
void Command::on_channel_closed() {
  auto self = shared_from_this();
  host_.loop.forget(report_watch_);
  report_.reset();
  bool never_born = std::exchange(unborn_, false);
  if (never_born) host_.reaper.settled();
  if (failure_ && never_born) return remove_group_when_empty();
  if (failure_) return;
  // Even if it runs already: nobody could tell its end.
  if (inner_pid_ != 0 && !never_born) return on_running();
  constexpr auto kKilled = "the new process was killed before it could run its command";
  constexpr auto kNeverMade = "the process that starts commands died with this one in hand";
  if (never_born) {
    on_spawn_failed(infrastructure_error(ErrorCode::unavailable, "shim", kNeverMade));
  } else if (kill_cause_) {
    on_spawn_failed(make_error(ErrorCode::aborted, "command '" + id_ + "' was ended (" + std::string(session::to_string(*kill_cause_)) + ") while it was being started"));
  } else {
    bool by_oom = host_.sandbox.counters().oom_kills() > before_.oom_kills;
    on_spawn_failed(by_oom ? memory_error() : make_error(ErrorCode::unavailable, kKilled));
  }
  if (never_born) remove_group_when_empty();
}

void Command::shorten_request() {
  constexpr std::size_t kShownArgumentsBytes = 4096;
  if (request_.shell.size() > session::kShownShellBytes) request_.shell = request_.shell.substr(0, session::kShownShellBytes);
  request_.env = {};
  std::size_t left = kShownArgumentsBytes;
  for (auto& argument : request_.argv) {
    if (argument.size() > left) argument = argument.substr(0, left);
    left -= argument.size();
  }
}

void Command::on_running() {
  host_.loop.cancel(spawn_timer_);
  shorten_request();
  if (state_ != CommandState::starting || failure_) return;
  state_ = CommandState::running;
  arm_timeouts();
  notify();
}

void Command::on_spawn_failed(Error error) {
  host_.loop.cancel(spawn_timer_);
  if (failure_) return;
  failure_ = std::move(error);
  state_ = CommandState::exited;
  kill(ExitCause::platform);
  out_pump_.close();
  err_pump_.close();
  input_.close();
  notify();
  host_.owner.on_settled(*this);
}

void Command::arm_timeouts() {
  if (request_.timeout_ms > 0) {
    timeout_timer_ = host_.loop.after_ms(static_cast<std::int64_t>(request_.timeout_ms), [this] { kill(ExitCause::timeout); });
  }
  last_output_ns_ = host_.loop.clock().monotonic_ns();
  if (request_.no_output_timeout_ms > 0) arm_quiet_timer();
}

void Command::arm_quiet_timer() {
  // One timer that looks when it fires how long ago the last byte was, not one more for each byte.
  auto limit = static_cast<std::int64_t>(request_.no_output_timeout_ms);
  std::int64_t quiet_ms = (host_.loop.clock().monotonic_ns() - last_output_ns_) / 1'000'000;
  if (quiet_ms >= limit) return kill(ExitCause::no_output_timeout);
  no_output_timer_ = host_.loop.after_ms(limit - quiet_ms, [this] { arm_quiet_timer(); });
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

void Command::on_main_death(const Death& death) {
  auto self = shared_from_this();
  if (state_ == CommandState::starting && report_) read_reports();
  child_.pidfd.reset();
  host_.loop.cancel(timeout_timer_);
  host_.loop.cancel(no_output_timer_);
  if (failure_) return remove_group_when_empty();
  death_ = death;
  died_ms_ = host_.loop.clock().wall_ms();
  end_ = describe_death(death);
  drain_timer_ = host_.loop.after_ms(kDrainMaxMs, [this] { record_end(); });
  out_pump_.drain_now();
  err_pump_.drain_now();
  if (!exit_) consider_end();
}

void Command::consider_end() {
  if (output_closed()) return record_end();
  host_.loop.cancel(quiet_timer_);
  quiet_timer_ = host_.loop.after_ms(kDrainQuietMs, [this] { record_end(); });
}

Command::Counts Command::count(const SandboxCounters& counters) {
  return {counters.oom_kills(), counters.memory_limit_hits(), counters.forks_refused()};
}

EndFacts Command::facts_of(const Death& death) const {
  auto now = count(host_.sandbox.counters());
  EndFacts facts;
  facts.wait_status = death.status;
  facts.killed_for = kill_cause_;
  facts.killed_detail = kill_detail_;
  facts.sandbox_ending = host_.owner.sandbox_ending() || host_.sandbox.init_is_dying();
  facts.oom_kills = std::min(now.oom_kills - before_.oom_kills, host_.owner.unexplained_oom_kills());
  facts.memory_limit_hit = now.memory_limit_hits > before_.memory_limit_hits || host_.sandbox.counters().swap_limit_was_reached();
  facts.forks_refused = now.forks_refused - before_.forks_refused;
  facts.disk_full = disk_may_matter(death.status) && host_.sandbox.disk_is_full();
  return facts;
}

session::ExitStatus Command::describe_death(const Death& death) const {
  auto facts = facts_of(death);
  auto verdict = judge_end(facts);
  bool by_oom = verdict.cause == ExitCause::oom || verdict.detail == "host_memory";
  if (by_oom) host_.owner.explained_by_oom();
  session::ExitStatus status;
  bool signalled = WIFSIGNALED(death.status);
  status.code = signalled ? -1 : WEXITSTATUS(death.status);
  status.signal = signalled ? WTERMSIG(death.status) : 0;
  status.cause = verdict.cause;
  status.cause_detail = verdict.detail;
  status.oom_kills = host_.sandbox.counters().oom_kills() - before_.oom_kills;
  status.forks_refused = facts.forks_refused;
  status.started_ms = started_ms_;
  status.exited_ms = died_ms_;
  status.cpu_user_us = microseconds(death.usage.ru_utime);
  status.cpu_system_us = microseconds(death.usage.ru_stime);
  status.max_rss_bytes = static_cast<std::uint64_t>(death.usage.ru_maxrss) * 1024;
  return status;
}

void Command::record_end() {
  if (exit_) return;
  fault_point(host_.sandbox.options().run_dir, "exit");
  auto self = shared_from_this();
  host_.loop.cancel(quiet_timer_);
  host_.loop.cancel(drain_timer_);
  auto status = std::move(end_);
  status.stdout_bytes = out_->total();
  status.stderr_bytes = err_->total();
  status.stdout_kept = out_->kept();
  status.stderr_kept = err_->kept();
  status.background = !output_closed();
  exit_ = std::move(status);
  state_ = CommandState::exited;
  if (!exit_->background) {
    out_->rest();
    err_->rest();
    input_.close();
    pty_.reset();
  }
  notify();
  remove_group_when_empty();
  host_.owner.on_settled(*this);
}

void Command::kill(ExitCause cause, std::string detail) {
  if (!kill_cause_ && !death_) {
    kill_cause_ = cause;
    kill_detail_ = std::move(detail);
  }
  if (!group_ || kill_timer_ != 0) return;
  kill_delay_ms_ = 2;
  kill_again();
}

void Command::kill_again() {
  kill_timer_ = 0;
  if (!group_) return;
  group_->kill_round();
  // Itself too: without a cgroup one that is still on its way to exec hasn't got its mark yet.
  if (child_.pidfd) ::syscall(SYS_pidfd_send_signal, child_.pidfd.get(), SIGKILL, nullptr, 0);
  // Its report comes through the reaper. Others may have been born meanwhile.
  if (group_->empty() && !child_.pidfd && !unborn_) return;
  kill_delay_ms_ = std::min<std::int64_t>(kill_delay_ms_ * 2, 200);
  kill_timer_ = host_.loop.after_ms(kill_delay_ms_, [this, self = shared_from_this()] { kill_again(); });
}

void Command::remove_group_when_empty() {
  if (!group_ || group_->cgroup_fd() < 0) return;
  if (group_->release()) {
    group_.reset();
    return;
  }
  host_.loop.cancel(group_timer_);
  // Wanted background processes: the leaf stays as long as they do. Polled rarely; each look is one rmdir.
  kill_delay_ms_ = std::min<std::int64_t>(kill_delay_ms_ * 2, 5'000);
  group_timer_ = host_.loop.after_ms(kill_delay_ms_, [this] { remove_group_when_empty(); });
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
  if (!child_.pidfd || state_ != CommandState::running) return gone;
  int failed = target == session::SignalTarget::group
                   ? ::kill(-child_.pid, signal)
                   : static_cast<int>(::syscall(SYS_pidfd_send_signal, child_.pidfd.get(), signal, nullptr, 0));
  if (failed != 0) return errno_error(errno, "signalling command '" + id_ + "'");
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
  info.pid = death_ ? 0 : inner_pid_;
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
