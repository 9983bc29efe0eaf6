#pragma once
// What the shim knows of its sandbox: the way in (namespaces, cgroups), and what is put on whoever goes in.

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "shim/entrance.hpp"
#include "shim/filter_key.hpp"
#include "shim/options.hpp"
#include "shim/sandbox_counters.hpp"

namespace harena::shim {

/// What a child says that saw its shim die: unavailable (infrastructure), detail "shim". No client gets it: its connection ends instead.
Error shim_has_died();
bool is_death_of_shim(const Error& error);

class Sandbox {
 public:
  /// Enters the sandbox's network namespace and makes later children be born in its pid namespace. Needs root.
  static Result<Sandbox> open(Options options);

  const Options& options() const { return options_; }
  /// See RenameRequest.
  void rename(std::string sandbox) { options_.sandbox = std::move(sandbox); }
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
  /// What the spawner and the processes that it makes need.
  std::vector<int> descriptors_for_spawner() const;

  /// Of the process that opened it: the shim.
  pid_t shim_pid() const { return shim_pid_; }
  /// For a child that doesn't exec: ends it with the shim. unavailable (infrastructure) when that is dead already. A change of user
  /// takes it back, so: before and after.
  Status die_with_shim() const;

  // In a child, between clone and exec. Each returns an error to be reported; none may be called by the shim itself.
  /// Those that count: processes and memory. resource_exhausted (limit, pids) when that made one too many: the kernel doesn't refuse it,
  /// and others fork meanwhile.
  Status join_counting_cgroups() const;
  /// One setns(2) for all: the kernel checks the others with the rights that the user namespace gives. `key`: of the filter that the
  /// caller has from confine_spawner().
  Status enter_all(const FilterKey& key) const;
  /// User and mount namespace only.
  Status enter_for_files() const;
  Status drop_capabilities() const;
  /// The AppArmor profile of the next exec.
  Status choose_apparmor() const;

  /// All of the above for a process without memory of its own; borrows this object's descriptors.
  Entrance entrance() const;

  // In the spawner: what all commands inherit from it.
  /// Signals, limits of descriptors, and nobody's favour with the OOM killer: it is small, and is made again if it was chosen. Where shim and init
  /// aren't protected from that (harenad isn't, or has no CAP_SYS_RESOURCE), commands are offered to it first, and the spawner with them.
  void restore_process_defaults() const;
  /// The v1 groups that don't count (cpu, cpuset, io): a running process that changes its cpu group loses the CPU to whoever waits there,
  /// one that is born in it doesn't.
  Status join_shared_cgroups() const;
  /// Puts no_new_privs and the seccomp filter of commands, which `key` opens, on the caller for good: all that it starts inherits both.
  Status confine_spawner(const FilterKey& key) const;

  const SandboxCounters& counters() const { return counters_; }
  /// Before a process is started: resource_exhausted (limit, pids) when there is no room for one. A v2 group refuses by itself.
  Status check_room_for_process() const;
  /// Whether nobody but root of the machine can put anything more on the sandbox's root file system. False where there is no
  /// sandbox of its own (host mode).
  bool disk_is_full() const;
  /// The init is dead or dying: what dies now dies of that.
  bool init_is_dying() const;
  /// Why a process couldn't get in, or be born inside. Behind the init's death it isn't the request's fault, nor news of the sandbox's
  /// content: unavailable (same_node), until the shim itself has seen the death.
  Error entering_failed(int number) const;

 private:
  Options options_;
  UniqueFd init_pidfd_;
  UniqueFd own_pid_namespace_;
  UniqueFd cgroup_;
  UniqueFd host_proc_;
  UniqueFd null_;
  /// `tasks` files of v1 hierarchies.
  std::vector<UniqueFd> v1_counting_, v1_shared_;
  SandboxCounters counters_;
  std::vector<sock_filter> seccomp_program_;
  pid_t shim_pid_ = -1;
  int namespace_flags_ = 0;
  int file_namespace_flags_ = 0;
  rlimit open_files_{};
  bool oom_adjusted_ = false;

  Status take_descriptors();
  Status find_namespaces();
  Status read_seccomp();
  void open_counters();
  void set_oom_score(std::string_view score) const;
};

}  // namespace harena::shim
