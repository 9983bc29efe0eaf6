#pragma once
// What the shim knows of its sandbox: the way in (namespaces, cgroups), and what is put on whoever goes in.

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "shim/options.hpp"

namespace harena::shim {

/// A counter file of a cgroup ("oom_kill 3") or a pair of files of a pids controller.
struct V1Limits {
  UniqueFd pids_current;
  UniqueFd pids_max;
  UniqueFd oom_control;
};

class Sandbox {
 public:
  /// Enters the sandbox's network namespace and makes later children be born in its pid namespace. Needs root.
  static Result<Sandbox> open(Options options);

  const Options& options() const { return options_; }
  bool has_namespaces() const { return options_.mode == Mode::namespaces; }
  bool has_cgroup() const { return cgroup_.get() >= 0; }
  int cgroup_fd() const { return cgroup_.get(); }
  int null_fd() const { return null_.get(); }
  int host_proc_fd() const { return host_proc_.get(); }

  /// Children are born in the sandbox's pid namespace (commands) or in the host's (file workers: out of the
  /// agent's reach, who could stop or kill them otherwise). No-op in host mode.
  void children_inside(bool inside) const;

  /// What a child that doesn't exec must keep open to get inside.
  std::vector<int> descriptors_for_children() const;

  // In a child, between clone and exec. Each returns an error to be reported; none may be called by the shim itself.
  Status join_v1_cgroups() const;
  /// One setns(2) for all: the kernel checks the others with the rights that the user namespace gives.
  Status enter_all() const;
  /// User and mount namespace only.
  Status enter_for_files() const;
  /// resource_exhausted (limit, pids) when the process that just joined is over the limit: attaching to a v1
  /// pids cgroup isn't refused by the kernel.
  Status check_pids() const;
  Status drop_capabilities() const;
  Status install_seccomp() const;
  void restore_process_defaults() const;

  /// Times that the OOM killer struck the sandbox; for telling oom from a plain SIGKILL.
  std::uint64_t oom_kills() const;
  /// The init is dead or dying: what dies now dies of that.
  bool init_is_dying() const;

 private:
  Options options_;
  UniqueFd init_pidfd_;
  UniqueFd own_pid_namespace_;
  UniqueFd cgroup_;
  UniqueFd host_proc_;
  UniqueFd null_;
  UniqueFd memory_events_;
  std::vector<UniqueFd> v1_tasks_;
  std::vector<V1Limits> v1_limits_;
  std::string seccomp_program_;
  int namespace_flags_ = 0;
  int file_namespace_flags_ = 0;
  rlimit open_files_{};
  bool oom_adjusted_ = false;

  Status take_descriptors();
  Status find_namespaces();
  Status read_seccomp();
  void open_v1_limits();
};

/// The whole of a small kernel file from its start; empty on failure.
std::string read_small_file(int fd);
/// The number behind "key " in a flat-keyed cgroup file; 0 if there is none.
std::uint64_t flat_value(const std::string& text, std::string_view key);

}  // namespace harena::shim
