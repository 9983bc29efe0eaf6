#pragma once
// The command line of harena-shim: the contract with the backend that starts it (shim/README.md).

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/support/resource_limit.hpp"

namespace harena::shim {

enum class Mode { namespaces, host };
/// How clients come: by the Unix socket itself, or through something that passes bytes alone (the agent of a VM).
enum class ChannelKind { unix_socket, tunnel };

struct Options {
  std::string run_dir;
  std::string sandbox;
  Mode mode = Mode::host;
  ChannelKind channel = ChannelKind::unix_socket;
  /// Inherited descriptors; -1 when not given.
  int listen_fd = -1;
  int init_pid = -1;
  int init_pidfd = -1;
  int cgroup_fd = -1;
  std::vector<int> v1_tasks_fds;
  int seccomp_fd = -1;
  int ready_fd = -1;
  std::optional<std::uint64_t> caps;
  /// Output of all commands together that is kept on disk.
  std::uint64_t spool_cap_bytes = 1ull << 30;
  /// Folder of the trusted tools inside the sandbox; empty: it has none.
  std::string tools;
  /// AppArmor profile of commands, loaded by whoever starts the shim; empty: none.
  std::string apparmor;
  /// Of every command, soft and hard alike.
  std::vector<ResourceLimit> rlimits;
  std::vector<std::pair<std::string, std::string>> environment;
};

inline bool passes_descriptors(const Options& options) { return options.channel == ChannelKind::unix_socket; }

/// invalid_argument names the option and what it takes.
Result<Options> parse_options(int argc, char** argv);

/// Takes the arguments out of /proc/PID/cmdline (which anyone in the sandbox could read of a child before its exec),
/// and names the process.
void hide_arguments(int argc, char** argv);

}  // namespace harena::shim
