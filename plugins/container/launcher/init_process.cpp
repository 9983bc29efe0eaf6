#include "plugins/container/launcher/init_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "plugins/container/launcher/overlay_root.hpp"
#include "plugins/container/launcher/root_tree.hpp"
#include "sdk/base/signal_mask.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/sandbox_init.hpp"
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
  const auto& request = filling.request;
  const std::size_t layers = request.staged ? 0 : request.layers.size() + request.frozen.size();
  const std::size_t root = request.staged ? 0 : layers + 1, mounts = request.mount_targets.size();
  if (packet.fds.size() < root + mounts) return make_error(ErrorCode::internal, "too few descriptors for a sandbox's init");
  for (std::size_t i = 0; i < packet.fds.size(); ++i) {
    if (i >= layers && i < root) {
      filling.root.writable = std::move(packet.fds[i]);
      continue;
    }
    auto& list = i < layers ? filling.root.layers : i < root + mounts ? filling.host_mounts : filling.v1_tasks;
    list.push_back(std::move(packet.fds[i]));
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
  if (context.staged.layers.empty()) return tree;
  HARENA_TRY_STATUS(stage_root(context.blank, context.staged, tree, context.spot));
  fault_point("init.staged");
  return tree;
}

Status fill(const InitContext& context, const BlankTree& tree, const Filling& filling) {
  HARENA_TRY_STATUS(join_v1_cgroups(filling.v1_tasks));
  fault_point("init.joined");
  const auto& name = filling.request.hostname;
  if (::sethostname(name.data(), name.size()) != 0) return errno_error(errno, "sethostname");
  fault_point("init.named");
  UniqueFd root;
  if (!filling.request.staged) {
    HARENA_TRY(root, mount_overlay_root(filling.request, filling.root, tree.scratch.get()));
    fault_point("init.overlay");
  } else if (!tree.staged) {
    return make_error(ErrorCode::internal, "a sandbox is to have the root of its blank, which has none");
  }
  HARENA_TRY_STATUS(enter_root_tree(filling.request, context.blank, tree, {root, filling.host_mounts}, context.spot));
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

}  // namespace

void remember_arguments(int argc, char** argv) {
  char* end = argv[argc - 1] + std::strlen(argv[argc - 1]);
  g_arguments = std::span<char>(argv[0], static_cast<std::size_t>(end - argv[0]));
}

void run_init(const InitContext& context) {
  block_all_signals();
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
