#include "shim/reaper.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <fcntl.h>

#include <cerrno>

#include "shim/process_flags.hpp"

namespace harena::shim {
namespace {

bool was_killed(const siginfo_t& dead) { return dead.si_pid > 0 && dead.si_code == CLD_KILLED && dead.si_status == SIGKILL; }

bool is_unexecuted(int proc, const siginfo_t& dead) {
  const auto flags = was_killed(dead) ? process_flags(proc, dead.si_pid) : std::nullopt;
  return flags && flags->no_exec;
}

}  // namespace

Result<std::unique_ptr<Reaper>> Reaper::create(EventLoop& loop) {
  sigset_t mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  std::unique_ptr<Reaper> reaper(new Reaper(loop));
  reaper->signals_ = UniqueFd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!reaper->signals_) return errno_error(errno, "signalfd");
  reaper->proc_ = UniqueFd(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!reaper->proc_) return errno_error(errno, "opening /proc");
  reaper->watch_ = loop.watch(reaper->signals_.get(), EPOLLIN, [r = reaper.get()](std::uint32_t) { r->reap(); });
  // Children that died before SIGCHLD was blocked.
  loop.defer([r = reaper.get()] { r->reap(); });
  return reaper;
}

Reaper::~Reaper() { loop_.forget(watch_); }

bool Reaper::on_death(pid_t pid, Callback callback) {
  auto node = unclaimed_.extract(pid);
  if (node.empty()) {
    callbacks_[pid] = std::move(callback);
    return true;
  }
  loop_.defer([callback = std::move(callback), death = node.mapped()] { callback(death); });
  return false;
}

void Reaper::settled() {
  if (--expected_ == 0) unclaimed_.clear();
}

bool Reaper::died_before_exec(pid_t pid) const {
  siginfo_t dead{};
  const bool is_dead = ::waitid(P_PID, static_cast<id_t>(pid), &dead, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
  return is_dead && is_unexecuted(proc_.get(), dead);
}

void Reaper::reap() {
  // A signal that is pending comes once, however often it was sent.
  signalfd_siginfo info;
  (void)!::read(signals_.get(), &info, sizeof info);
  for (;;) {
    siginfo_t dead{};
    // A look before the end: what the kernel knows of it goes with it. __WALL: also children that were cloned without SIGCHLD.
    if (::waitid(P_ALL, 0, &dead, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 || dead.si_pid == 0) return;
    const pid_t pid = dead.si_pid;
    Death death;
    death.before_exec = is_unexecuted(proc_.get(), dead);
    if (::wait4(pid, &death.status, WNOHANG | __WALL, &death.usage) != pid) return;
    auto node = callbacks_.extract(pid);
    if (!node.empty()) {
      node.mapped()(death);
    } else if (expected_ > 0) {
      unclaimed_[pid] = death;
    }
  }
}

}  // namespace harena::shim
