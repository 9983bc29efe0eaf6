#pragma once
// The process that makes one sandbox and then becomes its shim.

#include "plugins/container/launcher/layer_mounts.hpp"
#include "plugins/container/launcher/protocol.hpp"
#include "sdk/support/seccomp_program.hpp"

namespace harena::container {

/// Descriptors of a create request, in the order of protocol.hpp.
struct SandboxFds {
  UniqueFd reply, cgroup, shim_cgroup, listen, seccomp;
  UniqueFd disk;  // only if the request says so
  std::vector<UniqueFd> host_mounts;
  std::vector<UniqueFd> v1_tasks;
  static Result<SandboxFds> take(std::vector<UniqueFd> fds, bool with_disk, std::size_t host_mounts);
};

struct BuilderContext {
  const SandboxRequest& request;
  const SandboxFds& fds;
  std::vector<std::string> layer_paths;
  std::string scratch_folder;  // for overlay_root
  int seed_namespace;
  std::string spot;
  int shim_program;
  std::span<const sock_filter> init_filter;
  std::string tools;  // folder of the trusted tools in the launcher's namespace; empty: none
};

/// Runs in a child of the launcher. Answers on fds.reply and executes the shim; exits when something fails. Never returns.
[[noreturn]] void build_sandbox(const BuilderContext& context);

}  // namespace harena::container
