#include "plugins/container/doctor/findings.hpp"
#include "sdk/base/text.hpp"
#include "sdk/support/cgroup_layout.hpp"

namespace harena::container {
namespace {

Result<CgroupLayout> layout_of(const HostView& host) {
  const auto mounts = host.mounts();
  std::string controllers;
  for (const auto& mount : mounts) {
    if (mount.type == "cgroup2" && controllers.empty()) controllers = host.text(mount.mount_point + "/cgroup.controllers");
  }
  return cgroup_layout_from(mounts, controllers);
}

std::string mend_controller(const CgroupLayout& layout, const std::string& name) {
  if (name == "memory") return "add cgroup_enable=memory to the kernel's command line (GRUB_CMDLINE_LINUX) and reboot";
  if (layout.mode == CgroupLayout::Mode::unified) return "echo +" + name + " > " + layout.v2_root + "/cgroup.subtree_control, as the owner of the tree (in a container: of the host's)";
  return "mkdir -p /sys/fs/cgroup/" + name + " && mount -t cgroup -o " + name + " cgroup /sys/fs/cgroup/" + name;
}

void find_controllers(const CgroupLayout& layout, const Settings& settings, Findings& found) {
  for (const std::string name : {"cpu", "memory", "pids"}) {
    if (layout.v2_controllers.count(name) != 0 || layout.v1_roots.count(name) != 0) {
      found.ok("cgroup." + name, "the limit '" + name + "' can be set");
      continue;
    }
    const std::string what = "no hierarchy has the controller '" + name + "'", fix = mend_controller(layout, name);
    if (settings.allow_missing_limits.count(name) != 0) {
      found.warning("cgroup." + name, what, "sandboxes run without that limit, as allow_missing_limits says: one can take all of it", fix);
    } else {
      found.error("cgroup." + name, what, "no sandbox is made without its limits", fix);
    }
  }
  for (const std::string name : {"cpuset", "io", "blkio"}) {
    if (layout.v2_controllers.count(name) != 0 || layout.v1_roots.count(name) != 0) found.ok("cgroup." + name, "the controller '" + name + "' is there");
  }
}

/// Whether a group's swap can be limited; asked of any group but the root, which has no such file.
void find_swap_accounting(const HostView& host, const CgroupLayout& layout, Findings& found) {
  const auto lines = split(host.text("/proc/swaps"), '\n');
  const auto memory = layout.v1_roots.find("memory");
  const bool v1 = memory != layout.v1_roots.end();
  const bool counted = v1 ? host.exists(memory->second + "/memory.memsw.limit_in_bytes") : host.text("/proc/cmdline").find("swapaccount=0") == std::string::npos;
  // A header, the swap spaces, the empty rest.
  const bool has_swap = lines.size() > 2;
  if (counted || !has_swap) return found.ok("swap", has_swap ? "swap is counted per sandbox" : "there is no swap");
  found.warning("swap", "the machine swaps, and the kernel doesn't count it per group", "a sandbox over its memory limit swaps without end instead of ending",
                "add swapaccount=1 to the kernel's command line and reboot, or swapoff -a");
}

/// In a container or under a delegated tree the owner may allow only so many groups below.
void find_group_limits(const HostView& host, const CgroupLayout& layout, Findings& found) {
  constexpr std::int64_t kLeastGroups = 10'000, kLeastDepth = 6;  // two or three a sandbox; harena/INSTANCE/SANDBOX/part and what commands make
  const auto groups = host.number(layout.v2_root + "/cgroup.max.descendants"), depth = host.number(layout.v2_root + "/cgroup.max.depth");
  if ((!groups || *groups >= kLeastGroups) && (!depth || *depth >= kLeastDepth)) return found.ok("cgroup.room", "groups can be made as they are needed");
  const bool few = groups && *groups < kLeastGroups;
  const std::string file = few ? "cgroup.max.descendants" : "cgroup.max.depth";
  found.warning("cgroup.room", file + " is " + std::to_string(few ? *groups : *depth), "every sandbox needs groups of its own: creates fail when there are no more",
                "echo max > " + layout.v2_root + "/" + file + ", as the owner of the tree (in a container: of the host's)");
}

}  // namespace

void find_cgroups(const HostView& host, const Settings& settings, Findings& found) {
  auto layout = layout_of(host);
  if (!layout.ok()) {
    return found.error("cgroup", layout.error().message, "a sandbox is a cgroup: no limit, pause or stop is possible without",
                       "mkdir -p /sys/fs/cgroup/unified && mount -t cgroup2 none /sys/fs/cgroup/unified, or boot with systemd.unified_cgroup_hierarchy=1");
  }
  found.ok("cgroup", "cgroups: " + layout->mode_name() + (layout->mode == CgroupLayout::Mode::unified ? " (v2 alone)" : " (limits in v1, membership in v2)"));
  find_controllers(*layout, settings, found);
  find_swap_accounting(host, *layout, found);
  find_group_limits(host, *layout, found);
  find_process(host, layout->v2_root, found);
  find_orphans(host, layout->v2_root, settings, found);
}

}  // namespace harena::container
