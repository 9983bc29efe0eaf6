#pragma once
// The groups of one Harena instance in every hierarchy of the host: PARENT/INSTANCE/NAME.
//
// v2:      PARENT/INSTANCE/NAME            a sandbox: membership, freezing, and on a unified host the limits
//          PARENT/INSTANCE/NAME/cmd-N      one command (made by the shim, without controllers)
//          PARENT/INSTANCE/platform/NAME   the sandbox's shim, without limits
//          (of a sandbox that was a blank, NAME is the blank's in these)
// v1:      PARENT/INSTANCE/NAME            limits only; a process joins by writing "0" into `tasks`, which takes no global lock
//
// On a unified host the controllers cpu, memory, pids, cpuset and io are enabled from the root down to PARENT/INSTANCE; no
// process lives in an inner group. The v1 hierarchies cpuset, blkio and cpuacct have a group only for the sandboxes that ask for it:
// each costs a create and a removal.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/support/cgroup_group.hpp"
#include "sdk/support/cgroup_layout.hpp"
#include "sdk/support/cgroup_limits.hpp"

namespace harena {

/// Keys are absent when the host can't measure them.
struct CgroupUsage {
  std::optional<std::int64_t> cpu_ns, cpu_throttled_ns, memory_bytes, memory_peak_bytes, pids, oom_kills;
};

/// The descriptors of a sandbox's groups, as the launcher and the shim need them.
struct SandboxGroups {
  UniqueFd v2;
  /// One `tasks` file a v1 hierarchy in which the sandbox has a group, opened for writing; empty on a unified host.
  std::vector<UniqueFd> v1_tasks;
  /// memory.events (v2) or memory.oom_control (v1): both have a line "oom_kill N". None if there is no memory controller.
  UniqueFd memory_events;
  /// Limits that could not be set and were allowed to be missing.
  std::vector<std::string> missing;
};

struct BlankGroups {
  CgroupGroup sandbox, platform;
};

/// Thread-safe: all state is in the kernel.
///
/// *Blanks.* A group can be made before anybody knows whose it will be, with processes in it: on v2 a group has its name for ever and
/// moving processes is slow. adopt_blank() writes the sandbox's name on it (an extended attribute, which lives as long as the group
/// does), and from then on everything here finds it by that name, also after a restart. (In v1 groups get another name.)
class CgroupTree {
 public:
  /// Makes PARENT/INSTANCE in every hierarchy. Names are one path component each.
  static Result<CgroupTree> open(const CgroupLayout& layout, const std::string& parent, const std::string& instance);

  /// Why a limit can't be set on this host, by name; empty when all can.
  /// Found when the tree was opened.
  const std::map<std::string, std::string>& unavailable_limits() const { return unavailable_; }

  /// Makes the groups of a sandbox with its limits. Whatever was made is removed again on failure.
  /// failed_precondition names the limit that this host can't set; already_exists when the name is in use.
  Result<SandboxGroups> make_sandbox(const std::string& name, const CgroupLimits& limits,
                                     const std::set<std::string>& allow_missing) const;
  /// Gives a living sandbox the limits `after` instead of `before`: those that differ, all or none. It stands still meanwhile (and before
  /// and after, if it was frozen). Memory is never set below what is used. Idempotent: what a process that died in the middle
  /// had changed already is changed again. Returns the limits that can't be set and were allowed to be missing.
  /// failed_precondition names the limit; with cause `limit` it is one that is used up.
  Result<std::vector<std::string>> resize_sandbox(const std::string& name, const CgroupLimits& before, const CgroupLimits& after,
                                                  const std::set<std::string>& allow_missing, std::int64_t deadline_ns) const;
  /// The groups of a blank, but for those that only some sandboxes need; `name` is one that no sandbox has. remove_platform() and
  /// remove_sandbox() with its name remove them.
  Result<BlankGroups> make_blank(const std::string& name) const;
  /// A text of up to 4,095 bytes that its v2 group carries as long as it exists, whoever it belongs to.
  static Status note_on_blank(const BlankGroups& blank, const std::string& note);
  /// The note on the group of a sandbox or of a blank; empty when it has none.
  std::string note_of(const std::string& name) const;
  /// What make_sandbox does, on the groups of a blank.
  Result<SandboxGroups> adopt_blank(const std::string& blank, const std::string& name, const CgroupLimits& limits,
                                    const std::set<std::string>& allow_missing) const;
  Result<CgroupGroup> open_sandbox(const std::string& name) const;
  /// Names of all sandboxes that have a group in any hierarchy.
  Result<std::set<std::string>> sandboxes() const;
  /// Ends every process in the sandbox's v2 group; its groups stay, the v1 ones also for those of its shim's processes that are in them:
  /// they are removed with remove_sandbox() when the shim has ended. Idempotent.
  Status kill_sandbox(const std::string& name, std::int64_t deadline_ns) const;
  /// Kills what lives in the sandbox's groups and removes them. Idempotent.
  Status remove_sandbox(const std::string& name, std::int64_t deadline_ns) const;
  Result<CgroupUsage> usage(const std::string& name) const;

  /// The group of a sandbox's shim, or of the launcher.
  Result<CgroupGroup> make_platform(const std::string& name) const;
  Result<CgroupGroup> open_platform(const std::string& name) const;
  Result<std::set<std::string>> platforms() const;
  Status remove_platform(const std::string& name, std::int64_t deadline_ns) const;

  /// Takes the lock of this instance, held as long as the descriptor: two daemons with one instance name would sweep away each
  /// other's sandboxes. failed_precondition when another process has it.
  Result<UniqueFd> lock() const;
  /// The same, tried again for so long: a predecessor that was killed a moment ago may still be closing its descriptors (or a launcher of it
  /// hasn't reached its exec), and the kernel tells nobody within a time when a lock becomes free.
  Result<UniqueFd> lock_within(std::int64_t patience_ns) const;
  /// Removes PARENT/INSTANCE if nothing lives in it (for tests and uninstalling).
  Status remove_instance() const;

 private:
  struct Hierarchy {
    std::set<std::string> controllers;
    UniqueFd root;      // where the hierarchy is mounted
    UniqueFd instance;  // PARENT/INSTANCE
    /// Which sandboxes have a group in it; null: all.
    bool (*wanted)(const CgroupLimits&) = nullptr;
  };
  Status open_v2(UniqueFd& above, const std::string& instance);
  Status open_v1(const std::string& root, const std::set<std::string>& controllers);
  /// The name of the v2 groups of a sandbox: that of the blank it was, or its own.
  std::string group_name(const std::string& name) const;
  std::set<std::string> sandbox_names(std::set<std::string> groups) const;
  Status read_adoptions();
  Result<SandboxGroups> equip(const std::string& name, const CgroupLimits& limits, const std::set<std::string>& allow_missing) const;
  Status make_v1_groups(const std::string& name, const CgroupLimits& limits) const;
  void adopt_v1_groups(const std::string& blank, const std::string& name) const;
  std::map<std::string, std::string> find_unavailable() const;
  CgroupTree() = default;
  const Hierarchy* v1(const std::string& controller) const;
  Status set_limits(const std::string& name, const CgroupLimits& limits, const std::set<std::string>& allow_missing,
                    std::vector<std::string>& missing) const;
  Status set_limit(const std::string& limit, const std::string& name, int group, const CgroupLimits& limits) const;
  Result<SandboxGroups> open_groups(const std::string& name) const;
  // cgroup_tree_resize.cpp
  Status change_limit(const std::string& step, const std::string& name, const CgroupLimits& before, const CgroupLimits& after) const;
  void put_back(const std::vector<std::string>& steps, const std::string& name, const CgroupLimits& before,
                const CgroupLimits& after) const;
  /// A group of a v1 hierarchy that only some sandboxes need, for one that was made without.
  bool lacks_group(const Hierarchy& hierarchy, const std::string& name, const CgroupLimits& limits) const;
  Status make_late_group(const Hierarchy& hierarchy, const std::string& name, const CgroupLimits& before, const CgroupLimits& after) const;
  Status fill_late_group(const std::string& name, int group) const;
  /// A group made late has the shim in it, which outlives the sandbox's processes.
  Status remove_late_group(const Hierarchy& hierarchy, const std::string& name, std::int64_t deadline_ns) const;
  void usage_v1(const std::string& name, CgroupUsage& usage) const;

  CgroupLayout layout_;
  std::string parent_;
  std::string instance_name_;
  UniqueFd v2_root_;
  UniqueFd v2_instance_;
  UniqueFd v2_platform_;
  struct Adoptions {
    std::mutex mutex;
    std::map<std::string, std::string> blanks;  // by the sandbox's name
  };
  std::unique_ptr<Adoptions> adoptions_ = std::make_unique<Adoptions>();
  std::vector<Hierarchy> v1_;
  std::set<std::string> v2_enabled_;
  std::map<std::string, std::string> enable_errors_;
  std::map<std::string, std::string> unavailable_;
};

}  // namespace harena
