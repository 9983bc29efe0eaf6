#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "plugins/container/backend.hpp"
#include "plugins/container/doctor/findings.hpp"
#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/seccomp_profile.hpp"

namespace harena::container {
namespace {

struct ProbeFacts {
  json why_not = json::array();
  json warnings = json::array();
  json facts = json::object();
};

bool kernel_at_least(const std::string& release, int major, int minor) {
  auto parts = split(release, '.');
  if (parts.size() < 2) return false;
  auto have_major = parse_int(parts[0], 0, 1000, "major");
  auto have_minor = parse_int(parts[1].substr(0, parts[1].find_first_not_of("0123456789")), 0, 1000, "minor");
  if (!have_major.ok() || !have_minor.ok()) return false;
  return *have_major > major || (*have_major == major && *have_minor >= minor);
}

/// Registered, or there as a module that the kernel loads at the first mount.
bool has_filesystem(const std::string& name, const std::string& release) {
  auto registered = read_file_at(AT_FDCWD, "/proc/filesystems");
  if (registered.ok() && registered->find("\t" + name + "\n") != std::string::npos) return true;
  auto modules = read_file_at(AT_FDCWD, "/lib/modules/" + release + "/modules.dep", 16 << 20);
  return modules.ok() && modules->find("/" + name + ".ko") != std::string::npos;
}

void look_at_kernel(ProbeFacts& found) {
  utsname name{};
  ::uname(&name);
  const std::string release = name.release;
  found.facts["kernel"] = release;
  found.facts["architecture"] = name.machine;
  if (!kernel_at_least(release, 5, 19)) found.why_not.push_back("kernel " + release + " has no id-mapped EROFS and overlay; 5.19 or newer is needed");
  for (const char* type : {"erofs", "overlay"}) {
    const bool there = has_filesystem(type, release);
    found.facts[type] = there;
    if (!there) found.why_not.push_back(std::string("the kernel has no file system ") + type);
  }
  const bool from_file = kernel_at_least(release, 6, 12);
  found.facts["erofs_mount"] = from_file ? "file" : "loop";
  if (!from_file && ::access("/dev/loop-control", R_OK) != 0) found.why_not.push_back("/dev/loop-control is missing: EROFS images can't be mounted on this kernel (modprobe loop)");
  found.facts["apparmor"] = ::access("/sys/kernel/security/apparmor", F_OK) == 0;
  if (auto lsm = read_file_at(AT_FDCWD, "/sys/kernel/security/lsm"); lsm.ok()) found.facts["lsm"] = *lsm;
  auto actions = read_file_at(AT_FDCWD, "/proc/sys/kernel/seccomp/actions_avail");
  found.facts["seccomp"] = actions.ok();
  found.facts["seccomp_profile_version"] = kSeccompProfileVersion;
  if (!actions.ok()) found.why_not.push_back("the kernel has no seccomp filters");
}

void look_at_namespaces(ProbeFacts& found) {
  if (::geteuid() != 0) found.why_not.push_back("harenad isn't root: containers need it");
  json limits = json::object();
  for (const char* kind : {"user", "net", "ipc", "uts", "pid", "mnt", "cgroup"}) {
    auto text = read_file_at(AT_FDCWD, std::string("/proc/sys/user/max_") + kind + "_namespaces");
    if (!text.ok()) {
      found.why_not.push_back(std::string("the kernel has no ") + kind + " namespaces");
      continue;
    }
    auto value = parse_int(std::string_view(*text).substr(0, text->find('\n')), 0, INT64_MAX, kind);
    limits[kind] = value.ok() ? *value : 0;
    if (value.ok() && *value == 0) found.why_not.push_back(std::string("/proc/sys/user/max_") + kind + "_namespaces is 0");
  }
  found.facts["namespace_limits"] = limits;
}

void look_at_cgroups(const Settings& settings, ProbeFacts& found) {
  auto layout = detect_cgroups();
  if (!layout.ok()) {
    found.why_not.push_back(layout.error().message);
    return;
  }
  std::set<std::string> controllers = layout->v2_controllers;
  for (const auto& [name, root] : layout->v1_roots) controllers.insert(name);
  found.facts["cgroup_mode"] = layout->mode_name();
  found.facts["cgroup_controllers"] = controllers;
  for (const std::string limit : {"cpu", "memory", "pids"}) {
    if (controllers.count(limit) != 0) continue;
    const std::string text = "the limit '" + limit + "' can't be set: no hierarchy has the controller";
    (settings.allow_missing_limits.count(limit) != 0 ? found.warnings : found.why_not).push_back(text);
  }
}

void look_at_programs(const Settings& settings, ProbeFacts& found) {
  for (const auto& [name, path] : {std::pair("launcher", settings.launcher_path), std::pair("shim", settings.shim_path)}) {
    found.facts[name] = path;
    if (path.empty() || ::access(path.c_str(), X_OK) != 0) {
      found.why_not.push_back(std::string("the program of the ") + name + " isn't there" + (path.empty() ? "" : ": " + path) + "; set " + name + "_path");
    }
  }
}

void look_at_ids(const Settings& settings, ProbeFacts& found) {
  const std::uint64_t last = settings.id_base + std::uint64_t{settings.id_ranges} * kIdsPerRange - 1;
  found.facts["id_first"] = settings.id_base;
  found.facts["id_last"] = last;
  for (const char* file : {"/etc/subuid", "/etc/subgid"}) {
    auto text = read_file_at(AT_FDCWD, file);
    if (!text.ok()) continue;
    const std::string overlap = overlapping_subids(*text, settings.id_base, last);
    if (!overlap.empty()) found.warnings.push_back(std::string(file) + " gives ids of the sandboxes' pool to others (" + overlap + "); set id_base");
  }
}

}  // namespace

void look_at_tools(const Settings& settings, ProbeFacts& found) {
  const Lxcfs lxcfs = settings.use_lxcfs ? find_lxcfs() : Lxcfs();
  const char* running = lxcfs.mount == 0 ? "not running" : lxcfs.files.empty() ? "doesn't answer" : "running";
  found.facts["lxcfs"] = settings.use_lxcfs ? running : "off";
  if (settings.use_lxcfs && lxcfs.files.empty()) {
    found.warnings.push_back("lxcfs isn't running: free, /proc/meminfo and /proc/cpuinfo inside show the host instead of the limits; "
                             "apt-get install lxcfs, then systemctl enable --now lxcfs (without systemd: lxcfs -l --enable-cfs /var/lib/lxcfs)");
  }
  found.facts["disk_limit"] = DiskImages().available() ? "image" : "none";
  if (!DiskImages().available()) {
    found.warnings.push_back("mke2fs isn't there: creates with the parameter disk fail; apt-get install e2fsprogs");
  }
}

json probe_host(const Settings& settings) {
  ProbeFacts found;
  look_at_kernel(found);
  look_at_namespaces(found);
  look_at_cgroups(settings, found);
  look_at_programs(settings, found);
  look_at_ids(settings, found);
  look_at_tools(settings, found);
  found.facts["warnings"] = found.warnings;
  found.facts["findings"] = container_findings(HostView::of_this_host(), settings);
  return {{"usable", found.why_not.empty()}, {"why_not", found.why_not}, {"facts", found.facts}};
}

}  // namespace harena::container
