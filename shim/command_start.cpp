#include "shim/command.hpp"

// A command from its request to exec, or to the reason why not.

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "sdk/session/hello.hpp"
#include "shim/command_child.hpp"
#include "shim/command_plan.hpp"
#include "shim/fault.hpp"
#include "shim/start_failure.hpp"

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

Error memory_error() {
  constexpr auto kText = "the sandbox's memory was full: the OOM killer ended the new process before it could run its command";
  Error limit = make_error(ErrorCode::resource_exhausted, kText);
  limit.cause = Cause::limit;
  limit.cause_detail = "memory";
  limit.retry = Retry::same_node;
  return limit;
}

}  // namespace

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

/// stdin_data as a file without a name: it waits for its command on disk, not in memory.
Result<UniqueFd> Command::keep_stdin_data() {
  const auto data = std::exchange(request_.stdin_data, {});
  const auto path = host_.sandbox.options().run_dir + "/commands/" + id_ + ".in";
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno_error(errno, "keeping stdin_data");
  ::unlink(path.c_str());
  for (std::string_view rest = data; !rest.empty();) {
    auto wrote = ::write(file.get(), rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return errno_error(errno, "keeping stdin_data");
    rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return file;
}

Status Command::start() {
  HARENA_TRY_STATUS(host_.sandbox.check_room_for_process());
  if (!request_.stdin_data.empty()) {
    HARENA_TRY(stdin_file_, keep_stdin_data());
  }
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
  // No turn for each report: they are read together when the channel closes.
  report_watch_ = host_.loop.watch(report_.get(), EPOLLHUP, [this, self = shared_from_this()](std::uint32_t) { read_reports(); });
  spawn_timer_ = host_.loop.after_ms(kSpawnTimeoutMs, [this] {
    constexpr auto kStopped = "the new process didn't get to exec within 30 s; something in the sandbox stopped it";
    on_spawn_failed(make_error(ErrorCode::deadline_exceeded, kStopped));
  });
  open_streams(pipes);
  return {};
}

void Command::open_streams(Pipes& pipes) {
  if (request_.pty) return;
  out_pump_.open(std::move(pipes.out_ours), false, [this] { on_output(); });
  err_pump_.open(std::move(pipes.err_ours), false, [this] { on_output(); });
  if (pipes.in_ours) input_.open(std::move(pipes.in_ours), false);
  if (stdin_file_) input_.feed(std::move(stdin_file_));
}

void Command::open_pty(UniqueFd master) {
  pty_ = UniqueFd(::fcntl(master.get(), F_DUPFD_CLOEXEC, 3));
  input_.open(UniqueFd(::fcntl(master.get(), F_DUPFD_CLOEXEC, 3)), true);
  if (!pty_ || !input_.is_open() || !master) {
    constexpr auto kNone = "the sandbox's shim has no descriptor left for a PTY";
    return on_spawn_failed(infrastructure_error(ErrorCode::resource_exhausted, "descriptors", kNone));
  }
  out_pump_.open(std::move(master), true, [this] { on_output(); });
  if (request_.stdin_mode == StdinMode::none) input_.end();
  if (stdin_file_) input_.feed(std::move(stdin_file_));
}

void Command::read_reports() {
  auto self = shared_from_this();
  while (report_) {
    auto report = receive_report(report_.get());
    if (report.kind == Report::again) return;
    take_report(std::move(report));
  }
}

/// Only commands of root fail in numbers (light_child.hpp).
Error Command::explain(std::string_view failed) const {
  auto failure = decode_failure(failed);
  if (!failure) return failure.error();
  if (failure->error_number == ENOMEM && memory_was_full()) return memory_error();
  if (failure->step == StartStep::enter) return host_.sandbox.entering_failed(failure->error_number);
  const auto path = search_path(host_.sandbox, request_, make_environment(host_.sandbox, request_, Identity{}));
  const auto program = request_.shell.empty() ? request_.argv.front() : shell_of(host_.sandbox, request_);
  return explain_failure(*failure, request_.cwd, program, path);
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
    case Report::failed: return on_spawn_failed(explain(report.body));
    default: break;
  }
  on_channel_closed();
}

void Command::on_born(pid_t pid) {
  fault_point(host_.sandbox.options().run_dir, "spawn.born");
  const bool lives = host_.reaper.on_death(pid, [self = shared_from_this()](const Death& death) { self->on_main_death(death); });
  if (lives) child_ = pid;
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
  if (inner_pid_ != 0 && !never_born && !killed_before_exec()) return on_running();
  on_spawn_failed(why_not_started(never_born));
  if (never_born) remove_group_when_empty();
}

bool Command::killed_before_exec() const { return died_before_exec_ || (child_ > 0 && host_.reaper.died_before_exec(child_)); }

/// A light child has the spawner's memory. When the sandbox's is full and the OOM killer takes such a child, it takes the spawner along, and
/// counts the kill where the spawner lives: only the limit that was hit is the sandbox's to see.
bool Command::memory_was_full() const {
  const auto now = count(host_.sandbox.counters());
  return now.oom_kills > before_.oom_kills || now.memory_limit_hits > before_.memory_limit_hits ||
         host_.sandbox.counters().swap_limit_was_reached();
}

Error Command::why_not_started(bool never_born) const {
  constexpr auto kKilled = "the new process was killed before it could run its command";
  constexpr auto kNeverMade = "the process that starts commands died with this one in hand";
  if (kill_cause_ && !never_born) {
    auto why = std::string(session::to_string(*kill_cause_));
    return make_error(ErrorCode::aborted, "command '" + id_ + "' was ended (" + why + ") while it was being started");
  }
  if (host_.sandbox.init_is_dying()) return host_.sandbox.entering_failed(ESRCH);
  if (memory_was_full()) return memory_error();
  if (!never_born) return make_error(ErrorCode::unavailable, kKilled);
  auto lost = infrastructure_error(ErrorCode::unavailable, "shim", kNeverMade);
  // It says its pid before it runs anything: one that has may have run for a moment.
  lost.retry = inner_pid_ == 0 ? Retry::same_node : Retry::never;
  return lost;
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

}  // namespace harena::shim
