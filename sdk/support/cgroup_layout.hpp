#pragma once
// What cgroup hierarchies this host has.
//
// Two kinds are supported. *Unified*: one v2 tree with the controllers in it. *Hybrid*: v1 controllers, each in its own
// hierarchy, beside a v2 tree without controllers. In both the v2 tree carries membership and freezing; on the hybrid the v1
// groups only carry limits.

#include <map>
#include <set>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena {

struct CgroupLayout {
  enum class Mode { unified, hybrid };
  Mode mode = Mode::unified;
  /// Where the v2 tree is mounted.
  std::string v2_root;
  /// Controllers that the v2 tree's root offers.
  std::set<std::string> v2_controllers;
  /// v1: controller name to the mount point of its hierarchy; two controllers may share one ("cpu,cpuacct").
  std::map<std::string, std::string> v1_roots;

  /// "unified" or "hybrid".
  std::string mode_name() const { return mode == Mode::unified ? "unified" : "hybrid"; }
};

/// failed_precondition when there is no v2 tree at all (what to mount is in the message).
Result<CgroupLayout> detect_cgroups();
/// The same from given tables; `v2_controllers` is the text of the v2 root's cgroup.controllers.
Result<CgroupLayout> cgroup_layout_from(const std::vector<MountEntry>& mounts, const std::string& v2_controllers);

}  // namespace harena
