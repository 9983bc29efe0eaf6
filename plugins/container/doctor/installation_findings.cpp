#include <unistd.h>

#include "plugins/container/doctor/findings.hpp"
#include "sdk/support/id_range.hpp"

namespace harena::container {
namespace {

void find_program(const std::string& name, const std::string& path, Findings& found) {
  if (!path.empty() && ::access(path.c_str(), X_OK) == 0) return found.ok("program." + name, "the program of the " + name + " is there");
  found.error("program." + name, "the program of the " + name + " isn't there" + (path.empty() ? "" : ": " + path), "no sandbox can be made without",
              "install Harena again, or set " + name + "_path in the container plugin's configuration");
}

void find_tools(const Settings& settings, Findings& found) {
  if (!settings.tools_path.empty() && ::access((settings.tools_path + "/sh").c_str(), X_OK) == 0) {
    return found.ok("tools", "trusted tools are there");
  }
  found.warning("tools", settings.tools_path.empty() ? "there are no trusted tools" : "the trusted tools have no sh in " + settings.tools_path,
                "trusted_tools of exec is refused: evaluations have to use the agent's own shell", "apt-get install busybox-static, then install Harena again");
}

void find_ids(const HostView& host, const Settings& settings, Findings& found) {
  const std::uint64_t last = settings.id_base + std::uint64_t{settings.id_ranges} * kIdsPerRange - 1;
  bool clash = false;
  for (const std::string file : {"/etc/subuid", "/etc/subgid"}) {
    const std::string overlap = overlapping_subids(host.text(file), settings.id_base, last);
    if (overlap.empty()) continue;
    clash = true;
    found.warning("ids", file + " gives ids of the sandboxes' pool to others (" + overlap + ")", "their containers and ours could touch each other's files and processes",
                  "set id_base in the container plugin's configuration to a free range, or remove the line from " + file);
  }
  if (!clash) found.ok("ids", "user and group ids " + std::to_string(settings.id_base) + " to " + std::to_string(last) + " are ours alone");
}

void find_lxcfs(const HostView& host, const Settings& settings, Findings& found) {
  if (!settings.use_lxcfs) return found.ok("lxcfs", "lxcfs isn't used: use_lxcfs is off");
  if (host.exists("/var/lib/lxcfs/proc/meminfo")) return found.ok("lxcfs", "lxcfs runs: programs inside see their limits");
  found.warning("lxcfs", "lxcfs doesn't run", "free, uptime and /proc/meminfo in a sandbox show the machine instead of the limits",
                "apt-get install lxcfs (and systemctl start lxcfs)");
}

void find_disk_maker(const HostView& host, Findings& found) {
  if (host.exists("/sbin/mke2fs") || host.exists("/usr/sbin/mke2fs")) return found.ok("disk", "disks of limited size can be made");
  found.warning("disk", "mke2fs isn't there", "creates with a limit for the disk fail", "apt-get install e2fsprogs");
}

void find_clock(const HostView& host, Findings& found) {
  if (!host.clock_synchronised) return;
  if (*host.clock_synchronised) return found.ok("clock", "the clock is synchronised");
  found.warning("clock", "the clock isn't synchronised", "tokens, TTLs and event times drift from those of other machines; downloads in sandboxes fail on certificates",
                "timedatectl set-ntp true (package systemd-timesyncd or chrony)");
}

}  // namespace

void find_installation(const HostView& host, const Settings& settings, Findings& found) {
  find_program("launcher", settings.launcher_path, found);
  find_program("shim", settings.shim_path, found);
  find_tools(settings, found);
  find_ids(host, settings, found);
  find_lxcfs(host, settings, found);
  find_disk_maker(host, found);
  find_clock(host, found);
}

}  // namespace harena::container
