#include "shim/command.hpp"

// A command from its time limits to the record of its end, and what it left behind.

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "shim/fault.hpp"

namespace harena::shim {

using session::CommandState;
using session::ExitCause;

namespace {

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

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

void Command::on_main_death(const Death& death) {
  auto self = shared_from_this();
  died_before_exec_ = death.before_exec;
  if (state_ == CommandState::starting && report_) read_reports();
  child_ = -1;
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

Command::Counts Command::count(const SandboxCounters& counters) {
  return {counters.oom_kills(), counters.memory_limit_hits(), counters.forks_refused()};
}

void Command::consider_end() {
  // What was ended is told when all of it is gone (kill_again sees to it, the drain's limit holds).
  if (kill_cause_ && has_processes()) return;
  if (output_closed()) return record_end();
  host_.loop.cancel(quiet_timer_);
  quiet_timer_ = host_.loop.after_ms(kDrainQuietMs, [this] { record_end(); });
}

EndFacts Command::facts_of(const Death& death, const Counts& now) const {
  EndFacts facts;
  facts.wait_status = death.status;
  facts.killed_for = kill_cause_;
  facts.killed_detail = kill_detail_;
  facts.forks_refused = now.forks_refused - before_.forks_refused;
  // What comes is looked up in the kernel, and says nothing about a success.
  if (WIFEXITED(death.status) && WEXITSTATUS(death.status) == 0) return facts;
  facts.sandbox_ending = host_.owner.sandbox_ending() || host_.sandbox.init_is_dying();
  facts.oom_kills = std::min(now.oom_kills - before_.oom_kills, host_.owner.unexplained_oom_kills());
  facts.memory_limit_hit = now.memory_limit_hits > before_.memory_limit_hits || host_.sandbox.counters().swap_limit_was_reached();
  // The kernel counted it where the spawner lives (memory_was_full).
  if (death.before_exec && facts.memory_limit_hit) facts.oom_kills = std::max<std::uint64_t>(facts.oom_kills, 1);
  facts.disk_full = disk_may_matter(death.status) && host_.sandbox.disk_is_full();
  return facts;
}

session::ExitStatus Command::describe_death(const Death& death) const {
  const auto now = count(host_.sandbox.counters());
  auto facts = facts_of(death, now);
  auto verdict = judge_end(facts);
  bool by_oom = verdict.cause == ExitCause::oom || verdict.detail == "host_memory";
  // One before its exec was mostly counted elsewhere: a count that rose meanwhile explains another's end.
  if (by_oom && !death.before_exec) host_.owner.explained_by_oom();
  session::ExitStatus status;
  bool signalled = WIFSIGNALED(death.status);
  status.code = signalled ? -1 : WEXITSTATUS(death.status);
  status.signal = signalled ? WTERMSIG(death.status) : 0;
  status.cause = verdict.cause;
  status.cause_detail = verdict.detail;
  status.oom_kills = now.oom_kills - before_.oom_kills;
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
  // Which process it is may be known and not yet read.
  if (report_) read_reports();
  if (group_ && kill_timer_ == 0) kill_again();
}

void Command::kill_again() {
  kill_timer_ = 0;
  if (!group_) return;
  group_->kill_round();
  // Itself too: without a cgroup one that is still on its way to exec hasn't got its mark yet.
  if (child_ > 0) ::kill(child_, SIGKILL);
  // Its report comes through the reaper. Others may have been born meanwhile.
  if (group_->empty() && child_ < 0 && !unborn_) {
    if (death_ && !exit_) consider_end();
    return;
  }
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

}  // namespace harena::shim
