// What the daemon itself was started with: the unit's limits, and what earlier daemons left.

#include <fcntl.h>

#include <cstdio>

#include "plugins/container/doctor/findings.hpp"
#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

/// `harenad --doctor` looks at a machine without being its daemon: the limits of the shell that it was called from mean nothing.
bool is_the_daemon(const HostView& host) { return host.text("/proc/self/cmdline", 4096).find("--doctor") == std::string::npos; }

/// The hard limit in a line of /proc/PID/limits; nullopt when it is unlimited or not there.
std::optional<std::int64_t> hard_limit(const HostView& host, const std::string& name) {
  for (const auto& line : split(host.text("/proc/self/limits"), '\n')) {
    if (!line.starts_with(name)) continue;
    const std::string rest = line.substr(name.size());
    long long soft = 0, hard = 0;
    if (std::sscanf(rest.c_str(), "%lld %lld", &soft, &hard) == 2) return hard;
  }
  return std::nullopt;
}

void find_open_files(const HostView& host, Findings& found) {
  constexpr std::int64_t kLeast = 65'536;  // about ten a sandbox of harenad's, and two an attached stream
  const auto most = hard_limit(host, "Max open files");
  if (!most || *most >= kLeast) return found.ok("unit.nofile", "harenad may open " + (most ? std::to_string(*most) : "any number of") + " files");
  found.warning("unit.nofile", "harenad may open " + std::to_string(*most) + " files, fewer than " + std::to_string(kLeast),
                "creates and streams fail with EMFILE long before the machine is full",
                "LimitNOFILE=1048576 in its unit (systemctl edit harenad); without systemd: ulimit -Hn 1048576 before it starts");
}

/// The group of the daemon; nullopt when it has no limit.
std::optional<std::int64_t> own_pids_limit(const HostView& host, const std::string& v2_root) {
  for (const auto& line : split(host.text("/proc/self/cgroup"), '\n')) {
    if (line.starts_with("0::/")) return host.number(v2_root + line.substr(3) + "/pids.max");
  }
  return std::nullopt;
}

void find_tasks(const HostView& host, const std::string& v2_root, Findings& found) {
  constexpr std::int64_t kLeast = 1024;  // its threads, and helpers that it starts
  const auto most = own_pids_limit(host, v2_root);
  if (!most || *most >= kLeast) return found.ok("unit.tasks", "harenad may have " + (most ? std::to_string(*most) : "any number of") + " tasks");
  found.warning("unit.tasks", "harenad's own group may have " + std::to_string(*most) + " tasks", "its threads and helpers can't be started under load", "TasksMax=infinity in its unit (systemctl edit harenad)");
}

void find_oom_score(const HostView& host, Findings& found) {
  const std::string score = host.text("/proc/self/oom_score_adj", 64);
  if (score.starts_with("-")) return found.ok("unit.oom", "the kernel takes others than harenad when the machine's memory ends");
  found.warning("unit.oom", "harenad's oom_score_adj isn't below zero", "when the machine's memory ends the kernel may end the daemon before a sandbox",
                "OOMScoreAdjust=-900 in its unit (systemctl edit harenad); without systemd: choom -n -900 -p $(pidof harenad)");
}

void find_mounts(const HostView& host, Findings& found) {
  if (!host.own_mounts) return found.ok("unit.mounts", "harenad shares the machine's mounts");
  found.warning("unit.mounts", "harenad has mounts of its own: its unit sets an option like PrivateTmp=, ProtectSystem= or ReadWritePaths=, or it was started so",
                "after a restart of harenad the mounts of its earlier life are out of its reach: layers are mounted again, and disks stay busy until their sandboxes end",
                "systemctl cat harenad shows which; remove it (systemctl edit harenad), then systemctl restart harenad");
}

/// A filter of system calls is inherited by everything that the daemon starts, and never widened again.
void find_filter(const HostView& host, Findings& found) {
  for (const auto& line : split(host.text("/proc/self/status"), '\n')) {
    if (!line.starts_with("Seccomp:") || line.ends_with("0")) continue;
    return found.warning("unit.filter", "harenad runs under a filter of system calls: its unit sets an option like SystemCallFilter=, ProtectHostname= or LockPersonality=",
                       "sandboxes inherit it: creates fail (sethostname: Operation not permitted), or programs inside do",
                       "systemctl cat harenad shows which; remove it (systemctl edit harenad), then systemctl restart harenad");
  }
  found.ok("unit.filter", "no filter of system calls is on harenad itself");
}

}  // namespace

void find_process(const HostView& host, const std::string& v2_root, Findings& found) {
  if (!is_the_daemon(host)) return;
  find_open_files(host, found);
  find_tasks(host, v2_root, found);
  find_oom_score(host, found);
  find_mounts(host, found);
  find_filter(host, found);
}

void find_orphans(const HostView& host, const std::string& v2_root, const Settings& settings, Findings& found) {
  const std::string tree = v2_root + "/harena";
  auto instances = list_directory(AT_FDCWD, host.root + tree);
  bool left = false;
  for (const auto& instance : instances.ok() ? *instances : std::vector<std::string>()) {
    const std::string folder = tree + "/" + instance;
    if (instance == settings.instance || host.text(folder + "/cgroup.events").find("populated 0") == std::string::npos) continue;
    std::size_t groups = 0;
    auto names = list_directory(AT_FDCWD, host.root + folder);
    for (const auto& name : names.ok() ? *names : std::vector<std::string>()) {
      if (name != "platform" && host.exists(folder + "/" + name + "/cgroup.procs")) ++groups;
    }
    if (groups == 0) continue;
    left = true;
    found.warning("orphans", std::to_string(groups) + " empty groups of the instance '" + instance + "', which has no process any more",
                  "sandboxes ended without their daemon, and it hasn't come back to clean up: groups, mounts and files of theirs may lie about",
                  "start the harenad of that instance once, it sweeps; or find " + folder + " -depth -type d -exec rmdir {} +");
  }
  if (!left) found.ok("orphans", "no sandboxes' groups without a daemon");
}

void find_pool(const BlankPool::Counts& pool, Findings& found) {
  if (pool.size == 0) return found.ok("pool", "no sandboxes are prepared in advance (pool: 0)");
  const std::string what = std::to_string(pool.waiting) + " of " + std::to_string(pool.size) + " sandboxes are prepared in advance; " +
                           std::to_string(pool.used) + " of " + std::to_string(pool.made) + " made so far were used";
  if (pool.problem.empty()) return found.ok("pool", what);
  found.warning("pool", what + "; the last one couldn't be made: " + pool.problem, "creates make their sandboxes directly meanwhile, which takes longer",
                "mend what it names; it is tried again every second and after each create");
}

}  // namespace harena::container
