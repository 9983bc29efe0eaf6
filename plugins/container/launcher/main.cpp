// harena-container-launcher: makes sandboxes for the container plugin, so that the daemon never forks.
//
// One process a plugin, single-threaded, static, not dumpable, in a pruned mount namespace. It ends when the other end of
// descriptor 3 is closed; sandboxes don't depend on it.

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>

#include "plugins/container/launcher/init_process.hpp"
#include "plugins/container/launcher/layer_mounts.hpp"
#include "plugins/container/launcher/overlay_root.hpp"
#include "plugins/container/launcher/pruned_namespace.hpp"
#include "plugins/container/launcher/root_swap.hpp"
#include "plugins/container/launcher/sandbox_builder.hpp"
#include "plugins/container/launcher/tools_mount.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/sandbox_init.hpp"

namespace harena::container {
namespace {

class Launcher {
 public:
  int run();

 private:
  void serve(Packet packet);
  Result<Fields> handle(const Fields& request, std::vector<UniqueFd>& fds);
  Result<Fields> hello(const Fields& request, std::vector<UniqueFd>& fds);
  Status create(const Fields& request, std::vector<UniqueFd> fds);
  Status change_root(const Fields& request, std::vector<UniqueFd> fds);
  Result<std::vector<std::string>> paths_of(const SandboxRequest& request) const;
  std::string new_scratch() { return namespaces_->work + "/sandboxes/" + std::to_string(serial_++); }
  void reap();
  Status prepare(const Fields& request, std::vector<UniqueFd> fds);
  Status start_builder(const BlankRequest& blank, const BlankFds& fds, const FillOrder* order);

  std::optional<PrunedNamespace> namespaces_;
  std::optional<LayerMounts> layers_;
  UniqueFd shim_program_;
  std::string tools_;  // where they are mounted; empty: there are none
  std::vector<sock_filter> init_filter_;
  std::map<pid_t, std::string> scratch_folders_;
  std::uint64_t serial_ = 0;
};

Error not_ready(std::string message) { return make_error(ErrorCode::failed_precondition, std::move(message)); }

Result<Fields> Launcher::hello(const Fields& request, std::vector<UniqueFd>& fds) {
  if (namespaces_) return not_ready("hello was said already");
  if (fds.size() < 2) return not_ready("hello needs the shim's program and a cgroup");
  shim_program_ = std::move(fds[0]);
  HARENA_TRY_STATUS(write_file_at(fds[1].get(), "cgroup.procs", "0"));
  HARENA_TRY(init_filter_, init_filter());
  auto roots = request.list("roots");
  HARENA_TRY(std::string spot, find_mount_spot(roots));
  HARENA_TRY(auto namespaces, enter_pruned_namespace(roots, spot));
  namespaces_ = std::move(namespaces);
  if (fds.size() > 2) {
    tools_ = namespaces_->work + "/tools";
    HARENA_TRY_STATUS(mount_tools(fds[2].get(), tools_));
  }
  layers_.emplace(namespaces_->work, request.text("layer_mount") == "loop" ? LayerMounts::Method::loop : LayerMounts::Method::automatic);
  return Fields{{"ok", "1"}};
}

Result<std::vector<std::string>> Launcher::paths_of(const SandboxRequest& request) const {
  std::vector<std::string> paths;
  for (const auto& digest : request.layers) {
    HARENA_TRY(std::string path, layers_->path_of(digest));
    paths.push_back(std::move(path));
  }
  return paths;
}

Result<ProcessRef> init_of(const Fields& fields) {
  HARENA_TRY(auto pid, fields.number("init_pid"));
  HARENA_TRY(auto start, fields.number("init_start"));
  return ProcessRef{static_cast<pid_t>(pid), static_cast<std::uint64_t>(start)};
}

Fields answer_of(Result<std::string> upper) {
  return upper.ok() ? Fields{{"ok", "1"}, {"upper", std::move(*upper)}} : encode_error(upper.error());
}

/// root and settle: in a process of its own, which ends inside the sandbox's mount namespace.
Status Launcher::change_root(const Fields& fields, std::vector<UniqueFd> fds) {
  HARENA_TRY(const auto init, init_of(fields));
  const bool settle = fields.text("verb") == "settle";
  SandboxRequest request;
  if (!settle) {
    HARENA_TRY(request, SandboxRequest::decode(fields));
  }
  if (request.disk && fds.size() < 2) return not_ready("another root on a disk needs the disk's image");
  HARENA_TRY(auto paths, paths_of(request));
  const std::string scratch = new_scratch();
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid < 0) return errno_error(errno, "clone3 of a process that changes a root");
  if (pid == 0) {
    auto upper = settle ? settle_root(init) : Result<std::string>(request.upper);
    if (!settle) {
      const Status done = swap_root({request, std::move(paths), init, request.disk ? fds[1].get() : -1, scratch});
      if (!done.ok()) upper = done.error();
    }
    (void)send_packet(fds[0].get(), answer_of(std::move(upper)).encode());
    ::_exit(0);
  }
  scratch_folders_[static_cast<pid_t>(pid)] = scratch;
  return {};
}

Status Launcher::create(const Fields& fields, std::vector<UniqueFd> raw_fds) {
  fault_point("launcher.asked");
  FillOrder order;
  HARENA_TRY(order.request, SandboxRequest::decode(fields));
  HARENA_TRY(auto fds, BlankFds::take(raw_fds));
  HARENA_TRY(order.fds, FillFds::take(std::move(raw_fds), order.request));
  HARENA_TRY(order.request.layer_paths, paths_of(order.request));
  return start_builder(order.request, fds, &order);
}

Status Launcher::prepare(const Fields& fields, std::vector<UniqueFd> raw_fds) {
  HARENA_TRY(auto blank, BlankRequest::decode(fields));
  HARENA_TRY(auto fds, BlankFds::take(raw_fds));
  return start_builder(blank, fds, nullptr);
}

Status Launcher::start_builder(const BlankRequest& blank, const BlankFds& fds, const FillOrder* order) {
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<std::uint64_t>(fds.shim_cgroup.get());
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid != 0) fault_point("launcher.cloned");
  if (pid < 0) return errno_error(errno, "clone3 of a sandbox's builder");
  if (pid == 0) {
    build_sandbox({blank, fds, namespaces_->seed.get(), namespaces_->own.get(), namespaces_->work, shim_program_.get(), init_filter_, tools_,
                   kControlFd},
                  order);
  }
  return {};
}

Result<Fields> Launcher::handle(const Fields& request, std::vector<UniqueFd>& fds) {
  const std::string verb = request.text("verb");
  if (verb == "hello") return hello(request, fds);
  if (!layers_) return not_ready("hello comes first");
  if (verb == "layer" && fds.size() == 1) {
    HARENA_TRY_STATUS(layers_->add(request.text("digest"), fds[0].get()));
    HARENA_TRY(std::string path, layers_->path_of(request.text("digest")));
    return Fields{{"ok", "1"}, {"path", path}};
  }
  if (verb == "drop") {
    HARENA_TRY_STATUS(layers_->drop(request.text("digest")));
    return Fields{{"ok", "1"}};
  }
  return make_error(ErrorCode::unimplemented, "unknown verb '" + verb + "'");
}

void Launcher::serve(Packet packet) {
  if (packet.fds.empty()) return;  // nobody to answer to
  auto fields = Fields::decode(packet.bytes);
  UniqueFd reply(::fcntl(packet.fds[0].get(), F_DUPFD_CLOEXEC, 10));
  const std::string verb = fields.ok() ? fields->text("verb") : "";
  if (verb == "create" || verb == "prepare" || verb == "root" || verb == "settle") {
    Status status = not_ready("hello comes first");
    if (layers_ && verb == "create") {
      status = create(*fields, std::move(packet.fds));
    } else if (layers_ && verb == "prepare") {
      status = prepare(*fields, std::move(packet.fds));
    } else if (layers_) {
      status = change_root(*fields, std::move(packet.fds));
    }
    if (!status.ok()) (void)send_packet(reply.get(), encode_error(status.error()).encode());
    return;
  }
  packet.fds.erase(packet.fds.begin());
  auto answer = fields.ok() ? handle(*fields, packet.fds) : Result<Fields>(std::move(fields).error());
  (void)send_packet(reply.get(), answer.ok() ? answer->encode() : encode_error(answer.error()).encode());
}

/// A process that changed a root had its temporary mounts in a namespace of its own; their folders are left.
void Launcher::reap() {
  for (pid_t pid; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;) {
    auto found = scratch_folders_.find(pid);
    if (found == scratch_folders_.end()) continue;
    clear_overlay_folder(found->second);
    scratch_folders_.erase(found);
  }
}

int Launcher::run() {
  ::prctl(PR_SET_DUMPABLE, 0);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &children, nullptr);
  UniqueFd signals(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  while (true) {
    pollfd watched[2] = {{kControlFd, POLLIN, 0}, {signals.get(), POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) return 1;
    signalfd_siginfo info[16];
    if ((watched[1].revents & POLLIN) != 0) {
      while (::read(signals.get(), info, sizeof info) > 0) {
      }
      reap();
    }
    if (watched[0].revents == 0) continue;
    auto packet = receive_packet(kControlFd);
    if (packet.ok()) {
      serve(std::move(*packet));
    } else if (packet.error().code == ErrorCode::unavailable) {
      return 0;  // the plugin is gone, and with it our purpose
    }
  }
}

}  // namespace
}  // namespace harena::container

int main(int argc, char** argv) {
  if (argc != 1 || ::fcntl(harena::container::kControlFd, F_GETFD) < 0) {
    std::fprintf(stderr, "harena-container-launcher is started by the container plugin, with a socket as descriptor 3 and no arguments\n");
    return 2;
  }
  ::fcntl(harena::container::kControlFd, F_SETFD, FD_CLOEXEC);
  harena::container::remember_arguments(argc, argv);
  return harena::container::Launcher().run();
}
