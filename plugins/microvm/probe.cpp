#include "plugins/microvm/probe.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "sdk/support/cgroup_layout.hpp"

namespace harena::microvm {
namespace {

struct Found {
  std::vector<std::string> why_not, warnings;
  json facts = json::object();
};

bool is_there(const std::string& path, int mode) { return !path.empty() && ::access(path.c_str(), mode) == 0; }

void look_at_files(const Settings& settings, Found& found) {
  struct Wanted {
    const char* fact;
    const std::string& path;
    int mode;
    const char* mend;
  };
  const bool firecracker = settings.vmm == "firecracker";
  const Wanted wanted[] = {
      firecracker ? Wanted{"firecracker", settings.firecracker_path, X_OK, "install a release of it, or set firecracker_path"}
                  : Wanted{"qemu", settings.qemu_path, X_OK, "apt-get install qemu-system-x86"},
      {"machine", settings.machine_path, X_OK, "it is installed with Harena (libexec/harena/harena-machine); else set machine_path"},
      {"kernel", settings.kernel, R_OK, "apt-get install linux-image-cloud-amd64, or set kernel to another vmlinuz"},
      {"initramfs", settings.initramfs, R_OK, "run harena-guest-image, or set initramfs"},
  };
  for (const auto& one : wanted) {
    found.facts[one.fact] = one.path;
    if (is_there(one.path, one.mode)) continue;
    found.why_not.push_back(std::string(one.fact) + (one.path.empty() ? " isn't there" : " isn't there: " + one.path) + "; " + one.mend);
  }
  if (firecracker && !is_there(settings.jailer_path, X_OK)) {
    found.why_not.push_back("jailer isn't there" + (settings.jailer_path.empty() ? "" : ": " + settings.jailer_path) + "; it is in Firecracker's releases, or set jailer_path");
  }
  if (!is_there("/usr/sbin/mke2fs", X_OK) && !is_there("/sbin/mke2fs", X_OK)) {
    found.why_not.push_back("mke2fs isn't there; apt-get install e2fsprogs");
  }
}

void look_at_accelerator(const Settings& settings, Found& found) {
  const auto choice = choose_accelerator(settings.accelerator);
  if (!choice.ok()) {
    found.why_not.push_back(choice.error().message);
    return;
  }
  if (Status fits = check_vmm(settings, *choice); !fits.ok()) found.why_not.push_back(fits.error().message);
  const bool kvm = choice->accelerator == Accelerator::kvm;
  found.facts["accelerator"] = kvm ? "kvm" : "tcg";
  found.facts["accelerator_why"] = choice->why;
  if (!kvm && settings.vmm == "qemu") found.warnings.push_back("microVMs run under QEMU's emulation (TCG), several times slower: " + choice->why);
}

void look_at_cgroups(const Settings& settings, Found& found) {
  const auto layout = detect_cgroups();
  if (!layout.ok()) {
    found.why_not.push_back(layout.error().message);
    return;
  }
  for (const std::string limit : {"cpu", "memory", "pids"}) {
    if (layout->v2_controllers.count(limit) != 0 || layout->v1_roots.count(limit) != 0) continue;
    const bool allowed = settings.allow_missing_limits.count(limit) != 0;
    (allowed ? found.warnings : found.why_not).push_back("the limit '" + limit + "' can't be set: no hierarchy has the controller");
  }
}

}  // namespace

json probe_host(const Settings& settings) {
  Found found;
  if (::geteuid() != 0) found.why_not.push_back("harenad isn't root: machines need namespaces and cgroups of their own");
  look_at_files(settings, found);
  look_at_accelerator(settings, found);
  look_at_cgroups(settings, found);
  found.facts["snapshots"] = {"memory"};
  found.facts["vmm"] = settings.vmm == "qemu" ? "qemu-microvm" : settings.vmm;
  found.facts["warnings"] = found.warnings;
  return {{"usable", found.why_not.empty()}, {"why_not", found.why_not}, {"facts", found.facts}};
}

}  // namespace harena::microvm
