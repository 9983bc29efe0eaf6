#pragma once
// The process that makes one sandbox and then becomes its shim. In two halves: a blank, which is the same for every sandbox and may wait
// for the one it becomes, and the filling.

#include "plugins/container/launcher/layer_mounts.hpp"
#include "plugins/container/launcher/protocol.hpp"
#include "sdk/support/seccomp_program.hpp"

namespace harena::container {

/// The first descriptors of create and prepare, in the order of protocol.hpp.
struct BlankFds {
  UniqueFd reply, cgroup, shim_cgroup;
  /// Takes them out of `fds`.
  static Result<BlankFds> take(std::vector<UniqueFd>& fds);
};

/// The others of create, and those of fill.
struct FillFds {
  UniqueFd listen, seccomp;
  UniqueFd disk;  // only if the request says so
  std::vector<UniqueFd> host_mounts;
  std::vector<UniqueFd> v1_tasks;
  static Result<FillFds> take(std::vector<UniqueFd> fds, const SandboxRequest& request);
};

struct FillOrder {
  SandboxRequest request;  // with its layer_paths
  FillFds fds;
};

struct BuilderContext {
  const BlankRequest& blank;
  const BlankFds& fds;
  int seed_namespace;
  int own_namespace;  // the launcher's, where layers are mounted
  std::string spot;
  int shim_program;
  std::span<const sock_filter> init_filter;
  std::string tools;  // folder of the trusted tools in the launcher's namespace; empty: none
  int control_socket; // the launcher's, inherited; closed at once
};

/// Runs in a child of the launcher. Makes a blank and fills it as `order` says, or, when that is null, waits for an order on fds.reply.
/// Answers there and executes the shim; exits when something fails. Never returns.
[[noreturn]] void build_sandbox(const BuilderContext& context, const FillOrder* order);

}  // namespace harena::container
