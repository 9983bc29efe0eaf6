#include "plugins/container/launcher/init_process.hpp"

#include <fcntl.h>
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

#include "plugins/container/launcher/overlay_root.hpp"
#include "plugins/container/launcher/root_tree.hpp"
#include "sdk/support/capabilities.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/id_range.hpp"
#include "sdk/support/seccomp_program.hpp"

namespace harena::container {
namespace {

// The one global of the launcher: the kernel's view of argv is a property of the process.
std::span<char> g_arguments;

void show_name(std::string_view name) {
  if (g_arguments.size() > name.size()) {
    std::memset(g_arguments.data(), 0, g_arguments.size());
    std::memcpy(g_arguments.data(), name.data(), name.size());
  }
  ::prctl(PR_SET_NAME, std::string(name).c_str());
}

Status join_v1_cgroups(std::span<const UniqueFd> tasks) {
  for (const auto& fd : tasks) {
    // "0" is the writer; `tasks` moves one thread and takes no global lock.
    if (::write(fd.get(), "0", 1) != 1) return errno_error(errno, "join a v1 cgroup");
  }
  return {};
}

Status loopback_up() {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error(errno, "socket");
  ifreq interface{};
  std::strcpy(interface.ifr_name, "lo");
  interface.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &interface) != 0) return errno_error(errno, "bring lo up");
  return {};
}

/// Into the sandbox's user namespace as a user that it has no number for: nobody inside has init's id, so nobody may set its limits
/// (a CPU limit would end it), its priority or its CPUs. The range's last id; the map ends before it.
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

/// After the last change of credentials: those clear the death signal and the dumpable flag.
Status give_everything_up() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno_error(errno, "PR_SET_PDEATHSIG");
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return errno_error(errno, "PR_SET_DUMPABLE");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno_error(errno, "PR_SET_NO_NEW_PRIVS");
  return limit_capabilities(0);
}

/// What comes with the request: first the layers, then what is written to, the folders of the host, the v1 groups.
struct Filling {
  SandboxRequest request;
  RootParts root;
  std::vector<UniqueFd> host_mounts;
  std::vector<UniqueFd> v1_tasks;
};

Result<Filling> receive_filling(int socket) {
  HARENA_TRY(auto packet, receive_packet(socket));
  HARENA_TRY(auto fields, Fields::decode(packet.bytes));
  Filling filling;
  HARENA_TRY(filling.request, SandboxRequest::decode(fields));
  const std::size_t layers = filling.request.layers.size() + filling.request.frozen.size();
  const std::size_t mounts = filling.request.mount_targets.size();
  if (packet.fds.size() < layers + 1 + mounts) return make_error(ErrorCode::internal, "too few descriptors for a sandbox's init");
  for (std::size_t i = 0; i < packet.fds.size(); ++i) {
    auto& list = i < layers ? filling.root.layers : i <= layers + mounts ? filling.host_mounts : filling.v1_tasks;
    if (i == layers) {
      filling.root.writable = std::move(packet.fds[i]);
    } else {
      list.push_back(std::move(packet.fds[i]));
    }
  }
  return filling;
}

Result<BlankTree> prepare(const InitContext& context) {
  // The OOM killer takes the agent's processes, never the one that holds the sandbox together. (Refused without
  // CAP_SYS_RESOURCE; init is then still the smallest of all.)
  (void)write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "-1000");
  HARENA_TRY_STATUS(context.namespaces.join_without_user());
  HARENA_TRY_STATUS(loopback_up());
  HARENA_TRY(auto tree, prepare_tree(context.blank, context.tools_mount, context.spot));
  fault_point("init.prepared");
  return tree;
}

Status fill(const InitContext& context, const BlankTree& tree, const Filling& filling) {
  HARENA_TRY_STATUS(join_v1_cgroups(filling.v1_tasks));
  fault_point("init.joined");
  const auto& name = filling.request.hostname;
  if (::sethostname(name.data(), name.size()) != 0) return errno_error(errno, "sethostname");
  fault_point("init.named");
  HARENA_TRY(UniqueFd root, mount_overlay_root(filling.request, filling.root, tree.scratch.get()));
  fault_point("init.overlay");
  HARENA_TRY_STATUS(enter_root_tree(filling.request, tree, root.get(), filling.host_mounts, context.spot));
  HARENA_TRY_STATUS(become_nobody_inside(context.namespaces, filling.request.first_id));
  return give_everything_up();
}

/// Both halves; between them it says that it is ready, and waits.
Status build(const InitContext& context) {
  HARENA_TRY(auto tree, prepare(context));
  HARENA_TRY_STATUS(send_packet(context.status_socket, Fields{{"ok", "1"}}.encode()));
  HARENA_TRY(auto filling, receive_filling(context.status_socket));
  return fill(context, tree, filling);
}

/// Keeps `kept` alone. Every descriptor of the launcher was inherited, and one that stays is a way out.
int close_others(int kept) {
  if (kept != 0) {
    ::dup2(kept, 0);
    kept = 0;
  }
  ::close_range(1, ~0u, 0);
  return kept;
}

void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
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

void remember_arguments(int argc, char** argv) {
  char* end = argv[argc - 1] + std::strlen(argv[argc - 1]);
  g_arguments = std::span<char>(argv[0], static_cast<std::size_t>(end - argv[0]));
}

Result<std::vector<sock_filter>> init_filter() {
  SeccompProgram program;
  for (unsigned number : {SYS_wait4, SYS_rt_sigtimedwait, SYS_exit_group, SYS_exit, SYS_sendmsg, SYS_close, SYS_restart_syscall}) {
    program.allow(number);
  }
  return program.compile(EPERM);
}

void run_init(const InitContext& context) {
  block_signals();
  // Its builder's end of the socket: while it is open here, nobody hears that the builder is gone.
  ::close(context.builders_socket);
  Status status = build(context);
  int socket = context.status_socket;
  if (!status.ok()) {
    (void)send_packet(socket, encode_error(status.error()).encode());
    ::_exit(1);
  }
  socket = close_others(socket);
  show_name("init");
  status = install_seccomp(context.filter);
  // If the shim-to-be died before the death signal was set, nobody reads this, and so ends the sandbox.
  const std::string answer = status.ok() ? Fields{{"ok", "1"}}.encode() : encode_error(status.error()).encode();
  if (!send_packet(socket, answer).ok() || !status.ok()) ::_exit(1);
  ::close(socket);
  reap_for_ever();
}

}  // namespace harena::container
