#include "guest/sandbox_builder.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "guest/init_process.hpp"
#include "guest/network.hpp"
#include "guest/root_tree.hpp"
#include "guest/writable_disk.hpp"
#include "sdk/base/text.hpp"
#include "sdk/session/hello.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/id_range.hpp"
#include "sdk/support/packets.hpp"
#include "sdk/support/sandbox_init.hpp"
#include "sdk/support/seccomp_profile.hpp"

namespace harena::guest {
namespace {

using session::ConfigureRequest;

struct Init {
  pid_t pid = 0;
  UniqueFd pidfd;
};

Result<UniqueFd> listen_for_sessions() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, kShimSocket);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ::unlink(kShimSocket);
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::chmod(kShimSocket, 0600) != 0 ||
      ::listen(socket.get(), 1024) != 0) {
    return errno_error(errno, "listen for sessions");
  }
  return socket;
}

Error decode_report(const std::string& bytes) { return session::decode_error(std::string_view(bytes).substr(1)); }

/// Born in the sandbox's cgroup, as PID 1 of a pid namespace of the machine's own user namespace, so that nobody inside may mount another
/// proc for it.
Result<Init> start_init(const InitContext& context, int group) {
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_PIDFD | CLONE_INTO_CGROUP;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<std::uint64_t>(group);
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid < 0) return errno_error(errno, "clone3 of the sandbox's init");
  if (pid == 0) run_init(context);
  return Init{static_cast<pid_t>(pid), UniqueFd(pidfd)};
}

Result<Init> make_init(const ConfigureRequest& request, int group) {
  HARENA_TRY(auto namespaces, NamespaceHolder::make(kDefaultIdBase));
  HARENA_TRY(UniqueFd root, make_overlay(request, namespaces.user_namespace()));
  if (request.identity.network) HARENA_TRY_STATUS(give_device(*request.identity.network, namespaces.member()));
  HARENA_TRY(auto filter, init_filter());
  HARENA_TRY(auto report, make_packet_pair());
  HARENA_TRY(Init init, start_init({request, namespaces, root.get(), report.second.get(), filter}, group));
  report.second.reset();
  auto packet = receive_packet(report.first.get());
  if (!packet.ok()) return make_error(ErrorCode::aborted, "the sandbox's init ended while it was being made (out of memory?)");
  if (packet->bytes != "ok") return decode_report(packet->bytes);
  return init;
}

int inherited(int fd) {
  ::fcntl(fd, F_SETFD, 0);
  return fd;
}

/// Of commands: the same as in containers, where it doesn't get in the way of somebody who has the machine for himself.
Result<UniqueFd> command_filter() {
  HARENA_TRY(auto program, seccomp_profile(SeccompScope::machine).compile(ENOSYS));
  return seccomp_memfd(program);
}

struct ShimDescriptors {
  int listener, group, ready, seccomp;
};

std::vector<std::string> shim_arguments(const ConfigureRequest& request, const Init& init, const ShimDescriptors& fds) {
  std::vector<std::string> arguments = {"harena-shim", "--run-dir", kSessionFolder, "--sandbox", request.sandbox, "--mode", "namespaces",
                                        "--channel", "tunnel", "--spool-cap", std::to_string(request.spool_cap_bytes)};
  const auto add = [&arguments](const char* name, std::string value) {
    arguments.push_back(name);
    arguments.push_back(std::move(value));
  };
  add("--listen-fd", std::to_string(inherited(fds.listener)));
  add("--init-pid", std::to_string(init.pid));
  add("--init-pidfd", std::to_string(inherited(init.pidfd.get())));
  add("--cgroup-fd", std::to_string(inherited(fds.group)));
  add("--ready-fd", std::to_string(inherited(fds.ready)));
  add("--seccomp-fd", std::to_string(inherited(fds.seccomp)));
  if (request.tools) add("--tools", kToolsPath);
  std::array<char, 20> hex{};
  std::snprintf(hex.data(), hex.size(), "%llx", static_cast<unsigned long long>(request.capabilities.value_or(session::kDefaultCapabilities)));
  add("--caps", hex.data());
  for (const auto& limit : request.rlimits) add("--rlimit", limit);
  for (const auto& [name, value] : request.environment) add("--environment", name + "=" + value);
  return arguments;
}

/// 0 and 1 read and write nothing; what it says on 2 goes to the kernel's log, which the host sees on the console.
void shim_streams() {
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  UniqueFd log(::open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
  ::dup2(null.get(), 0);
  ::dup2(null.get(), 1);
  ::dup2(log ? log.get() : null.get(), 2);
}

Status become_shim(const ConfigureRequest& request, int group, int ready) {
  if (::setsid() < 0) return errno_error(errno, "setsid");
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  HARENA_TRY(UniqueFd listener, listen_for_sessions());
  HARENA_TRY(Init init, make_init(request, group));
  HARENA_TRY_STATUS(send_packet(ready, "init=" + std::to_string(init.pid)));
  HARENA_TRY(UniqueFd filter, command_filter());
  const auto arguments = shim_arguments(request, init, {listener.get(), group, ready, filter.get()});
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  shim_streams();
  std::array<char*, 1> environment = {nullptr};
  ::execve(kShimProgram, argv.data(), environment.data());
  return errno_error(errno, std::string("exec ") + kShimProgram);
}

Result<RunningSandbox> await_shim(pid_t shim, int report) {
  RunningSandbox running{shim, 0};
  while (true) {
    auto packet = receive_packet(report);
    if (!packet.ok()) return make_error(ErrorCode::aborted, "the sandbox's shim ended while it started; the machine's console has its words");
    if (packet->bytes == "R") return running;
    if (!packet->bytes.starts_with("init=")) return decode_report(packet->bytes);
    HARENA_TRY(auto pid, parse_int(std::string_view(packet->bytes).substr(5), 1, 1 << 22, "pid"));
    running.init = static_cast<pid_t>(pid);
  }
}

}  // namespace

Result<RunningSandbox> start_sandbox(const ConfigureRequest& request, int group) {
  HARENA_TRY(auto report, make_packet_pair());
  const pid_t child = ::fork();
  if (child < 0) return errno_error(errno, "fork");
  if (child == 0) {
    report.first.reset();
    auto status = become_shim(request, group, report.second.get());
    (void)send_packet(report.second.get(), "E" + session::encode_error(status.error()));
    ::_exit(1);
  }
  report.second.reset();
  auto running = await_shim(child, report.first.get());
  if (!running.ok()) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return running;
}

}  // namespace harena::guest
