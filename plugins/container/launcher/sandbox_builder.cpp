#include "plugins/container/launcher/sandbox_builder.hpp"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <poll.h>
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
  UniqueFd status;  // InitContext::status_socket's other end
};

struct Blank {
  NamespaceHolder namespaces;
  Init init;
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
  return Init{static_cast<pid_t>(pid), UniqueFd(pidfd), UniqueFd()};
}

Status await_init(int status_socket) {
  auto packet = receive_packet(status_socket);
  if (!packet.ok()) return make_error(ErrorCode::aborted, "the sandbox's init ended while it was being made (out of memory?)");
  auto answer = decode_answer(packet->bytes);
  return answer.ok() ? Status() : Status(std::move(answer).error());
}

Status enter_mounts(int mount_namespace) {
  if (::setns(mount_namespace, CLONE_NEWNS) != 0) return errno_error(errno, "enter a mount namespace of the launcher");
  return {};
}

/// As open_root_parts wants it.
SandboxRequest stage_of(const BlankRequest& blank) {
  SandboxRequest request;
  request.first_id = blank.first_id;
  request.state_dir = blank.stage;
  return request;
}

Result<Blank> make_blank(const BuilderContext& context, Stages& stages) {
  HARENA_TRY(auto namespaces, NamespaceHolder::make(context.blank.first_id));
  stages.mark("namespaces");
  fault_point("builder.namespaces");
  UniqueFd tools;
  if (!context.tools.empty()) {
    HARENA_TRY(tools, clone_mount(AT_FDCWD, context.tools));
  }
  RootParts staged;
  if (!context.blank.stage.empty()) {
    HARENA_TRY(staged, open_root_parts(stage_of(context.blank), context.blank.stage_paths, -1, namespaces.user_namespace()));
  }
  HARENA_TRY(auto status, make_packet_pair());
  // From the seed: what init's namespace is copied from.
  HARENA_TRY_STATUS(enter_mounts(context.seed_namespace));
  HARENA_TRY(Init init, start_init(context, {context.blank, namespaces, context.spot, status.second.get(), status.first.get(),
                                             context.init_filter, tools.get(), staged}));
  init.status = std::move(status.first);
  HARENA_TRY_STATUS(enter_mounts(context.own_namespace));
  return Blank{std::move(namespaces), std::move(init)};
}

/// Without what only the shim needs.
SandboxRequest for_init(SandboxRequest request) {
  request.environment.clear();
  request.rlimits.clear();
  request.layer_paths.clear();
  return request;
}

/// Mounts that init can't make: layers are mounted in the launcher's namespace alone.
Status send_filling(const Blank& blank, const FillOrder& order) {
  const int user_namespace = blank.namespaces.user_namespace();
  RootParts parts;
  std::vector<int> fds;
  if (!order.request.staged) {
    HARENA_TRY(parts, open_root_parts(order.request, order.request.layer_paths, order.fds.disk.get(), user_namespace));
    for (const auto& layer : parts.layers) fds.push_back(layer.get());
    fds.push_back(parts.writable.get());
  }
  for (const auto& mount : order.fds.host_mounts) {
    auto mapped = idmap_mount(mount.get(), user_namespace);
    if (!mapped.ok()) return std::move(mapped).error().during("map the owners of a folder of the host");
    fds.push_back(mount.get());
  }
  for (const auto& tasks : order.fds.v1_tasks) fds.push_back(tasks.get());
  fault_point("builder.overlay");
  auto sent = send_packet(blank.init.status.get(), for_init(order.request).encode().encode(), fds);
  if (sent.ok()) return {};
  HARENA_TRY_STATUS(await_init(blank.init.status.get()));  // it may have said why
  return sent;
}

/// Sleeps until there is an order, or until plugin or init are gone. The plugin may never need this blank.
Result<FillOrder> await_order(const BuilderContext& context, const Blank& blank) {
  pollfd watched[2] = {{context.fds.reply.get(), POLLIN, 0}, {blank.init.pidfd.get(), POLLIN, 0}};
  while (::poll(watched, 2, -1) < 0 && errno == EINTR) {
  }
  if (watched[1].revents != 0) return make_error(ErrorCode::aborted, "the init of a prepared sandbox has ended");
  HARENA_TRY(auto packet, receive_packet(context.fds.reply.get()));
  HARENA_TRY(auto fields, Fields::decode(packet.bytes));
  FillOrder order;
  HARENA_TRY(order.request, SandboxRequest::decode(fields));
  HARENA_TRY(order.fds, FillFds::take(std::move(packet.fds), order.request));
  return order;
}

/// The blank is whole when init says so; with an order at hand init gets it at once and prepares meanwhile.
Status finish_blank(Blank& blank) {
  HARENA_TRY_STATUS(await_init(blank.init.status.get()));
  blank.namespaces.end_process();
  return {};
}

Status offer_blank(const BuilderContext& context, Blank& blank) {
  HARENA_TRY_STATUS(finish_blank(blank));
  fault_point("builder.blank");
  HARENA_TRY(auto self, process_ref(::getpid()));
  Fields answer{{"ok", "1"}};
  answer.set("shim_pid", std::int64_t{self.pid});
  answer.set("shim_start", static_cast<std::int64_t>(self.start_ticks));
  return send_packet(context.fds.reply.get(), answer.encode());
}

int inherited(int fd) {
  ::fcntl(fd, F_SETFD, 0);
  return fd;
}

std::vector<std::string> shim_arguments(const BuilderContext& context, const FillOrder& order, const Init& init) {
  const auto& fds = order.fds;
  char caps[17];
  std::snprintf(caps, sizeof caps, "%llx", static_cast<unsigned long long>(order.request.capabilities));
  std::vector<std::string> arguments = {"harena-shim", "--run-dir", order.request.state_dir + "/session",
                                        "--sandbox", order.request.id, "--mode", "namespaces", "--caps", caps};
  auto add = [&arguments](const char* name, int value) {
    arguments.push_back(name);
    arguments.push_back(std::to_string(value));
  };
  add("--listen-fd", inherited(fds.listen.get()));
  add("--init-pid", init.pid);
  add("--init-pidfd", inherited(init.pidfd.get()));
  add("--cgroup-fd", inherited(context.fds.cgroup.get()));
  for (const auto& tasks : fds.v1_tasks) add("--v1-tasks-fd", inherited(tasks.get()));
  add("--seccomp-fd", inherited(fds.seccomp.get()));
  add("--ready-fd", inherited(context.fds.reply.get()));
  if (!context.tools.empty()) {
    arguments.push_back("--tools");
    arguments.push_back(kToolsPath);
  }
  for (const auto& limit : order.request.rlimits) {
    arguments.push_back("--rlimit");
    arguments.push_back(limit);
  }
  if (!order.request.apparmor.empty()) {
    arguments.push_back("--apparmor");
    arguments.push_back(order.request.apparmor);
  }
  for (const auto& variable : order.request.environment) {
    arguments.push_back("--environment");
    arguments.push_back(variable);
  }
  return arguments;
}

/// 0, 1 read and write nothing; 2 goes to a file beside the spools.
Status shim_streams(const SandboxRequest& request) {
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return errno_error(errno, "open /dev/null");
  const std::string path = request.state_dir + "/session/shim.stderr";
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

/// What becomes of the builder, in two steps: nothing of the first needs the init's answer, which takes longer.
struct Shim {
  Fields answer{{"ok", "1"}};
  std::vector<std::string> arguments;
};

Result<Shim> prepare_shim(const BuilderContext& context, const FillOrder& order, const Init& init) {
  // The shim lives in the seed, where nothing of the layers is to be seen.
  HARENA_TRY_STATUS(enter_mounts(context.seed_namespace));
  HARENA_TRY_STATUS(shim_streams(order.request));
  for (const auto& limit : order.request.rlimits) HARENA_TRY_STATUS(allow_rlimit(limit));
  HARENA_TRY(auto self, process_ref(::getpid()));
  HARENA_TRY(auto other, process_ref(init.pid));
  Shim shim;
  shim.answer.set("shim_pid", std::int64_t{self.pid});
  shim.answer.set("shim_start", static_cast<std::int64_t>(self.start_ticks));
  shim.answer.set("init_pid", std::int64_t{other.pid});
  shim.answer.set("init_start", static_cast<std::int64_t>(other.start_ticks));
  shim.arguments = shim_arguments(context, order, init);
  return shim;
}

Status become_shim(const BuilderContext& context, Shim shim, const Stages& stages) {
  shim.answer.set("stages", stages.text());
  HARENA_TRY_STATUS(send_packet(context.fds.reply.get(), shim.answer.encode()));
  fault_point("builder.answered");
  std::vector<char*> argv;
  for (auto& argument : shim.arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::string fault = fault_variable();
  char* environment[] = {fault.empty() ? nullptr : fault.data(), nullptr};
  // By descriptor: the program's path may not exist in the seed namespace (a separate /usr).
  ::syscall(SYS_execveat, context.shim_program, "", argv.data(), environment, AT_EMPTY_PATH);
  return errno_error(errno, "execute the shim");
}

/// After send_filling: gets everything ready while init works, and becomes the shim when that has said so.
Status finish(const BuilderContext& context, const FillOrder& order, const Init& init, Stages& stages) {
  HARENA_TRY(auto shim, prepare_shim(context, order, init));
  HARENA_TRY_STATUS(await_init(init.status.get()));
  stages.mark("init");
  fault_point("builder.init");
  return become_shim(context, std::move(shim), stages);
}

}  // namespace

Result<BlankFds> BlankFds::take(std::vector<UniqueFd>& fds) {
  if (fds.size() < 3) {
    return make_error(ErrorCode::internal, "a request with " + std::to_string(fds.size()) + " descriptors; at least 3 are right");
  }
  BlankFds result{std::move(fds[0]), std::move(fds[1]), std::move(fds[2])};
  fds.erase(fds.begin(), fds.begin() + 3);
  return result;
}

Result<FillFds> FillFds::take(std::vector<UniqueFd> fds, const SandboxRequest& request) {
  const std::size_t fixed = request.disk ? 3 : 2, mounts = request.mount_targets.size();
  if (fds.size() < fixed + mounts) {
    return make_error(ErrorCode::internal, "a sandbox's request with " + std::to_string(fds.size()) + " descriptors; at least " +
                                               std::to_string(fixed + mounts) + " are right");
  }
  FillFds result;
  result.listen = std::move(fds[0]);
  result.seccomp = std::move(fds[1]);
  if (request.disk) result.disk = std::move(fds[2]);
  for (std::size_t i = fixed; i < fds.size(); ++i) {
    (i < fixed + mounts ? result.host_mounts : result.v1_tasks).push_back(std::move(fds[i]));
  }
  return result;
}

namespace {

Status build_and_fill(const BuilderContext& context, const FillOrder& order) {
  Stages stages;
  HARENA_TRY(Blank blank, make_blank(context, stages));
  HARENA_TRY_STATUS(send_filling(blank, order));
  stages.mark("mounts");
  HARENA_TRY_STATUS(finish_blank(blank));
  stages.mark("blank");
  return finish(context, order, blank.init, stages);
}

Status build_and_wait(const BuilderContext& context) {
  Stages stages;
  HARENA_TRY(Blank blank, make_blank(context, stages));
  HARENA_TRY_STATUS(offer_blank(context, blank));
  HARENA_TRY(FillOrder order, await_order(context, blank));
  fault_point("builder.ordered");
  Stages filling;
  HARENA_TRY_STATUS(send_filling(blank, order));
  filling.mark("mounts");
  return finish(context, order, blank.init, filling);
}

}  // namespace

void build_sandbox(const BuilderContext& context, const FillOrder* order) {
  // While it is open here, the plugin doesn't hear that the launcher is gone.
  ::close(context.control_socket);
  Status status = leave_the_launcher();
  // On failure init dies with this process (its death signal), or because nobody is at the other end of its socket.
  if (status.ok()) status = order != nullptr ? build_and_fill(context, *order) : build_and_wait(context);
  (void)send_packet(context.fds.reply.get(), encode_error(status.error()).encode());
  ::_exit(1);
}

}  // namespace harena::container
