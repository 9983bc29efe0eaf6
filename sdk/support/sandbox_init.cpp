#include "sdk/support/sandbox_init.hpp"

#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "sdk/support/capabilities.hpp"
#include "sdk/support/id_range.hpp"
#include "sdk/support/seccomp_program.hpp"

namespace harena {

Status loopback_up() {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error(errno, "socket");
  ifreq interface{};
  std::strcpy(interface.ifr_name, "lo");
  interface.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &interface) != 0) return errno_error(errno, "bring lo up");
  return {};
}

Status become_nobody_inside(const NamespaceHolder& namespaces, std::uint32_t first_id) {
  const std::uint32_t own = first_id + kIdsMapped;
  if (::prctl(PR_SET_KEEPCAPS, 1) != 0) return errno_error(errno, "PR_SET_KEEPCAPS");
  if (::setgroups(0, nullptr) != 0) return errno_error(errno, "setgroups");
  if (::setresgid(own, own, own) != 0 || ::setresuid(own, own, own) != 0) return errno_error(errno, "become init's user");
  // The change of user cleared what is effective; joining a user namespace needs it.
  HARENA_TRY_STATUS(raise_capabilities());
  HARENA_TRY_STATUS(namespaces.join_user());
  // Now, so that it belongs to the sandbox's user namespace; its root is where the process is already.
  if (::unshare(CLONE_NEWCGROUP) != 0) return errno_error(errno, "unshare the cgroup namespace");
  return {};
}

Status give_everything_up() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno_error(errno, "PR_SET_PDEATHSIG");
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return errno_error(errno, "PR_SET_DUMPABLE");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno_error(errno, "PR_SET_NO_NEW_PRIVS");
  return limit_capabilities(0);
}

int close_others(int kept) {
  if (kept != 0) {
    ::dup2(kept, 0);
    kept = 0;
  }
  ::close_range(1, ~0u, 0);
  return kept;
}

void reap_for_ever() {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  while (true) {
    while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
    }
    ::sigwaitinfo(&child, nullptr);  // blocked: none that came meanwhile is lost
  }
}

Result<std::vector<sock_filter>> init_filter() {
  SeccompProgram program;
  for (unsigned number : {SYS_wait4, SYS_rt_sigtimedwait, SYS_exit_group, SYS_exit, SYS_sendmsg, SYS_close, SYS_restart_syscall}) {
    program.allow(number);
  }
  return program.compile(EPERM);
}

}  // namespace harena
