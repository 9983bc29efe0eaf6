#include "shim/exit_cause.hpp"

#include <signal.h>
#include <sys/wait.h>

namespace harena::shim {

using session::ExitCause;

namespace {

bool ended_by(int status, int signal) { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }
bool succeeded(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
/// How a shell reports that what it waited for got a SIGKILL.
bool reports_a_kill(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGKILL; }

}  // namespace

bool disk_may_matter(int status) { return (WIFEXITED(status) && WEXITSTATUS(status) != 0) || ended_by(status, SIGBUS); }

EndVerdict judge_end(const EndFacts& facts) {
  int status = facts.wait_status;
  // One that ended by itself in the moment in which it was to be killed wasn't killed.
  if (facts.killed_for && ended_by(status, SIGKILL)) return {*facts.killed_for, facts.killed_detail};
  if (succeeded(status)) return {};
  if (facts.sandbox_ending) return {ExitCause::sandbox_stopped, {}};
  if (facts.oom_kills > 0 && (ended_by(status, SIGKILL) || reports_a_kill(status))) {
    if (facts.memory_limit_hit) return {ExitCause::oom, "memory"};
    // The machine ran out of memory, not the sandbox.
    return {ExitCause::platform, "host_memory"};
  }
  if (facts.forks_refused > 0 && WIFEXITED(status)) return {ExitCause::pids, "pids"};
  if (facts.disk_full && disk_may_matter(status)) return {ExitCause::disk, "sandbox"};
  return {WIFSIGNALED(status) ? ExitCause::signal : ExitCause::exit, {}};
}

}  // namespace harena::shim
