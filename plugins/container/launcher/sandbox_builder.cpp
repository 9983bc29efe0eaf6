#include "plugins/container/launcher/sandbox_builder.hpp"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "plugins/container/launcher/init_process.hpp"
#include "plugins/container/launcher/overlay_root.hpp"
#include "plugins/container/launcher/tools_mount.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/mount_api.hpp"
#include "sdk/support/process.hpp"
#include "sdk/support/resource_limit.hpp"

namespace harena::container {
namespace {

/// Microseconds of each step, for docs/performance.md and the bench.
class Stages {
 public:
  void mark(const char* name) {
    const std::int64_t now = monotonic_now_ns();
    text_ += (text_.empty() ? "" : " ") + std::string(name) + "=" + std::to_string((now - last_) / 1000);
    last_ = now;
  }
  const std::string& text() const { return text_; }

 private:
  std::int64_t last_ = monotonic_now_ns();
  std::string text_;
};

struct Init {
  pid_t pid = 0;
  UniqueFd pidfd;
};

/// Things that shim and init both inherit.
Status leave_the_launcher() {
  if (::setsid() < 0) return errno_error(errno, "setsid");
  ::umask(022);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  // A session keyring of its own: keys of the daemon's session aren't the sandbox's.
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
  // Refused without CAP_SYS_RESOURCE (harenad in a container); the shim is small enough to be passed over then.
  (void)write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "-900");
  return {};
}

/// The child is born in the sandbox's v2 cgroup, as PID 1 of a new pid namespace of the host's user namespace, so that nobody
/// inside may mount another proc for it.
Result<Init> start_init(const BuilderContext& context, const InitContext& init) {
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_PIDFD | CLONE_INTO_CGROUP;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<std::uint64_t>(context.fds.cgroup.get());
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid < 0) return errno_error(errno, "clone3 of the sandbox's init");
  if (pid == 0) run_init(init);
  return Init{static_cast<pid_t>(pid), UniqueFd(pidfd)};
}

Status await_init(int status_socket) {
  auto packet = receive_packet(status_socket);
  if (!packet.ok()) return make_error(ErrorCode::aborted, "the sandbox's init ended while it was being made (out of memory?)");
  auto answer = decode_answer(packet->bytes);
  return answer.ok() ? Status() : Status(std::move(answer).error());
}

Result<Init> make_init(const BuilderContext& context, Stages& stages) {
  HARENA_TRY(auto namespaces, NamespaceHolder::make(context.request.first_id));
  stages.mark("namespaces");
  fault_point("builder.namespaces");
  HARENA_TRY(UniqueFd root, mount_overlay_root(context.request, context.layer_paths, context.fds.disk.get(), namespaces.user_namespace(),
                                              context.scratch_folder));
  stages.mark("overlay");
  fault_point("builder.overlay");
  UniqueFd tools;
  if (!context.tools.empty()) {
    HARENA_TRY(tools, clone_mount(AT_FDCWD, context.tools));
  }
  std::vector<int> host_mounts;
  for (const auto& mount : context.fds.host_mounts) {
    auto mapped = idmap_mount(mount.get(), namespaces.user_namespace());
    if (!mapped.ok()) return std::move(mapped).error().during("map the owners of a folder of the host");
    host_mounts.push_back(mount.get());
  }
  // From the seed: what init's namespace is copied from, and where the shim lives.
  if (::setns(context.seed_namespace, CLONE_NEWNS) != 0) return errno_error(errno, "enter the seed mount namespace");
  HARENA_TRY(auto status, make_packet_pair());
  std::vector<int> tasks;
  for (const auto& fd : context.fds.v1_tasks) tasks.push_back(fd.get());
  HARENA_TRY(Init init, start_init(context, {context.request, namespaces, root.get(), context.spot, tasks,
                                             status.second.get(), context.init_filter, tools.get(), host_mounts}));
  status.second.reset();
  HARENA_TRY_STATUS(await_init(status.first.get()));
  stages.mark("init");
  fault_point("builder.init");
  return init;
}

int inherited(int fd) {
  ::fcntl(fd, F_SETFD, 0);
  return fd;
}

std::vector<std::string> shim_arguments(const BuilderContext& context, const Init& init) {
  const auto& fds = context.fds;
  char caps[17];
  std::snprintf(caps, sizeof caps, "%llx", static_cast<unsigned long long>(context.request.capabilities));
  std::vector<std::string> arguments = {"harena-shim", "--run-dir", context.request.state_dir + "/session",
                                        "--sandbox", context.request.id, "--mode", "namespaces", "--caps", caps};
  auto add = [&arguments](const char* name, int value) {
    arguments.push_back(name);
    arguments.push_back(std::to_string(value));
  };
  add("--listen-fd", inherited(fds.listen.get()));
  add("--init-pid", init.pid);
  add("--init-pidfd", inherited(init.pidfd.get()));
  add("--cgroup-fd", inherited(fds.cgroup.get()));
  for (const auto& tasks : fds.v1_tasks) add("--v1-tasks-fd", inherited(tasks.get()));
  add("--seccomp-fd", inherited(fds.seccomp.get()));
  add("--ready-fd", inherited(fds.reply.get()));
  if (!context.tools.empty()) {
    arguments.push_back("--tools");
    arguments.push_back(kToolsPath);
  }
  for (const auto& limit : context.request.rlimits) {
    arguments.push_back("--rlimit");
    arguments.push_back(limit);
  }
  if (!context.request.apparmor.empty()) {
    arguments.push_back("--apparmor");
    arguments.push_back(context.request.apparmor);
  }
  for (const auto& variable : context.request.environment) {
    arguments.push_back("--environment");
    arguments.push_back(variable);
  }
  return arguments;
}

/// 0, 1 read and write nothing; 2 goes to a file beside the spools.
Status shim_streams(const BuilderContext& context) {
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return errno_error(errno, "open /dev/null");
  const std::string path = context.request.state_dir + "/session/shim.stderr";
  UniqueFd log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log) return errno_error(errno, "open " + path);
  ::dup2(null.get(), 0);
  ::dup2(null.get(), 1);
  ::dup2(log.get(), 2);
  return {};
}

/// The shim gives its commands the limit; it can't when its own hard limit, which came down from the daemon's, is lower.
Status allow_rlimit(const std::string& text) {
  HARENA_TRY(auto wanted, ResourceLimit::parse(text));
  rlimit own{};
  if (::getrlimit(wanted.resource, &own) != 0) return errno_error(errno, "getrlimit");
  if (own.rlim_max >= wanted.value) return {};
  own.rlim_max = wanted.value;
  if (::setrlimit(wanted.resource, &own) != 0) return errno_error(errno, "raise the limit " + text);
  return {};
}

Status become_shim(const BuilderContext& context, const Init& init, const Stages& stages) {
  HARENA_TRY_STATUS(shim_streams(context));
  for (const auto& limit : context.request.rlimits) HARENA_TRY_STATUS(allow_rlimit(limit));
  HARENA_TRY(auto self, process_ref(::getpid()));
  HARENA_TRY(auto other, process_ref(init.pid));
  Fields answer{{"ok", "1"}, {"stages", stages.text()}};
  answer.set("shim_pid", std::int64_t{self.pid});
  answer.set("shim_start", static_cast<std::int64_t>(self.start_ticks));
  answer.set("init_pid", std::int64_t{other.pid});
  answer.set("init_start", static_cast<std::int64_t>(other.start_ticks));
  HARENA_TRY_STATUS(send_packet(context.fds.reply.get(), answer.encode()));
  fault_point("builder.answered");
  auto arguments = shim_arguments(context, init);
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::string fault = fault_variable();
  char* environment[] = {fault.empty() ? nullptr : fault.data(), nullptr};
  // By descriptor: the program's path may not exist in the seed namespace (a separate /usr).
  ::syscall(SYS_execveat, context.shim_program, "", argv.data(), environment, AT_EMPTY_PATH);
  return errno_error(errno, "execute the shim");
}

}  // namespace

Result<SandboxFds> SandboxFds::take(std::vector<UniqueFd> fds, bool with_disk, std::size_t host_mounts) {
  const std::size_t fixed = with_disk ? 6 : 5;
  if (fds.size() < fixed + host_mounts) {
    return make_error(ErrorCode::internal, "a create request with " + std::to_string(fds.size()) + " descriptors; at least " +
                                               std::to_string(fixed + host_mounts) + " are right");
  }
  SandboxFds result;
  result.reply = std::move(fds[0]);
  result.cgroup = std::move(fds[1]);
  result.shim_cgroup = std::move(fds[2]);
  result.listen = std::move(fds[3]);
  result.seccomp = std::move(fds[4]);
  if (with_disk) result.disk = std::move(fds[5]);
  for (std::size_t i = fixed; i < fds.size(); ++i) {
    (i < fixed + host_mounts ? result.host_mounts : result.v1_tasks).push_back(std::move(fds[i]));
  }
  return result;
}

void build_sandbox(const BuilderContext& context) {
  Stages stages;
  Status status = leave_the_launcher();
  if (status.ok()) {
    auto init = make_init(context, stages);
    // On failure init dies with this process (its death signal), or because nobody reads its status.
    status = init.ok() ? become_shim(context, *init, stages) : Status(std::move(init).error());
  }
  (void)send_packet(context.fds.reply.get(), encode_error(status.error()).encode());
  ::_exit(1);
}

}  // namespace harena::container
