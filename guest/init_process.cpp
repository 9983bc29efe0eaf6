#include "guest/init_process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "guest/network.hpp"
#include "guest/root_tree.hpp"
#include "sdk/session/hello.hpp"
#include "sdk/support/capabilities.hpp"
#include "sdk/support/id_range.hpp"
#include "sdk/support/packets.hpp"
#include "sdk/support/seccomp_program.hpp"

namespace harena::guest {
namespace {

/// The range's last id, which the sandbox's map doesn't name: nobody inside may set its limits, its priority or its CPUs.
Status become_nobody_inside(const NamespaceHolder& namespaces) {
  constexpr std::uint32_t kOwn = kDefaultIdBase + kIdsMapped;
  if (::prctl(PR_SET_KEEPCAPS, 1) != 0) return errno_error(errno, "PR_SET_KEEPCAPS");
  if (::setgroups(0, nullptr) != 0) return errno_error(errno, "setgroups");
  if (::setresgid(kOwn, kOwn, kOwn) != 0 || ::setresuid(kOwn, kOwn, kOwn) != 0) return errno_error(errno, "become init's user");
  HARENA_TRY_STATUS(raise_capabilities());
  HARENA_TRY_STATUS(namespaces.join_user());
  if (::unshare(CLONE_NEWCGROUP) != 0) return errno_error(errno, "unshare the cgroup namespace");
  return {};
}

/// After the last change of credentials: those clear the death signal and the dumpable flag.
Status give_everything_up() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno_error(errno, "PR_SET_PDEATHSIG");
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return errno_error(errno, "PR_SET_DUMPABLE");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno_error(errno, "PR_SET_NO_NEW_PRIVS");
  return limit_capabilities(0);
}

Status build(const InitContext& context) {
  const auto& identity = context.request.identity;
  HARENA_TRY_STATUS(context.namespaces.join_without_user());
  if (!identity.hostname.empty() && ::sethostname(identity.hostname.data(), identity.hostname.size()) != 0) return errno_error(errno, "sethostname");
  HARENA_TRY_STATUS(loopback_up());
  if (identity.network) HARENA_TRY_STATUS(configure_device(*identity.network));
  HARENA_TRY_STATUS(enter_root_tree(context.request, context.root));
  HARENA_TRY_STATUS(become_nobody_inside(context.namespaces));
  return give_everything_up();
}

int close_others(int kept) {
  if (kept != 0) {
    ::dup2(kept, 0);
    kept = 0;
  }
  ::close_range(1, ~0u, 0);
  return kept;
}

[[noreturn]] void reap_for_ever() {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  while (true) {
    while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
    }
    ::sigwaitinfo(&child, nullptr);  // blocked: none that came meanwhile is lost
  }
}

}  // namespace

Result<std::vector<sock_filter>> init_filter() {
  SeccompProgram program;
  for (unsigned number : {SYS_wait4, SYS_rt_sigtimedwait, SYS_exit_group, SYS_exit, SYS_sendmsg, SYS_close, SYS_restart_syscall}) {
    program.allow(number);
  }
  return program.compile(EPERM);
}

void run_init(const InitContext& context) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  auto status = build(context);
  if (!status.ok()) {
    (void)send_packet(context.report, "E" + session::encode_error(status.error()));
    ::_exit(1);
  }
  const int report = close_others(context.report);
  ::prctl(PR_SET_NAME, "init");
  status = install_seccomp(context.filter);
  const std::string answer = status.ok() ? "ok" : "E" + session::encode_error(status.error());
  if (!send_packet(report, answer).ok() || !status.ok()) ::_exit(1);
  ::close(report);
  reap_for_ever();
}

}  // namespace harena::guest
