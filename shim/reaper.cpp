#include "shim/reaper.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <cerrno>

namespace harena::shim {

Result<std::unique_ptr<Reaper>> Reaper::create(EventLoop& loop) {
  sigset_t mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  std::unique_ptr<Reaper> reaper(new Reaper(loop));
  reaper->signals_ = UniqueFd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!reaper->signals_) return errno_error(errno, "signalfd");
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

void Reaper::reap() {
  // A signal that is pending comes once, however often it was sent.
  signalfd_siginfo info;
  (void)!::read(signals_.get(), &info, sizeof info);
  Death death;
  // __WALL: also children that were cloned without SIGCHLD.
  for (pid_t pid; (pid = ::wait4(-1, &death.status, WNOHANG | __WALL, &death.usage)) > 0;) {
    auto node = callbacks_.extract(pid);
    if (!node.empty()) {
      node.mapped()(death);
    } else if (expected_ > 0) {
      unclaimed_[pid] = death;
    }
  }
}

}  // namespace harena::shim
