#include "sdk/vmm/host_report.hpp"

#include <unistd.h>

#include "sdk/support/cgroup_layout.hpp"

namespace harena::vmm {

using nlohmann::json;

void HostReport::add(const std::string& id, const char* level, const std::string& what, const std::string& why, const std::string& fix) {
  findings_.push_back({{"id", backend_ + "." + id}, {"level", level}, {"what", what}, {"why", why}, {"fix", fix}});
}

void HostReport::warning(const std::string& id, const std::string& what, const std::string& why, const std::string& fix) {
  add(id, "warning", what, why, fix);
  warnings_.push_back(what + ": " + why);
}

void HostReport::error(const std::string& id, const std::string& what, const std::string& why, const std::string& fix) {
  add(id, "error", what, why, fix);
  why_not_.push_back(what + (fix.empty() ? "" : "; " + fix));
}

void HostReport::label(const std::string& name, const std::string& value) {
  facts_[name] = value;
  labels_[name] = value;
}

json HostReport::probe() const {
  json facts = facts_;
  facts["warnings"] = warnings_;
  facts["findings"] = findings_;
  facts["labels"] = labels_;
  return {{"usable", why_not_.empty()}, {"why_not", why_not_}, {"facts", std::move(facts)}};
}

void report_root(HostReport& report) {
  if (::geteuid() == 0) return;
  report.error("root", "harenad isn't root", "machines need namespaces and cgroups of their own",
               "start it by systemd (systemctl start harenad), or by sudo");
}

bool report_file(HostReport& report, const std::string& id, const std::string& path, int mode, const std::string& fix) {
  report.fact(id, path);
  const bool there = !path.empty() && ::access(path.c_str(), mode) == 0;
  if (there) report.ok(id, id + " is " + path);
  else report.error(id, id + " isn't there" + (path.empty() ? "" : ": " + path), "no machine starts without it", fix);
  return there;
}

Result<AcceleratorChoice> report_accelerator(HostReport& report, const std::string& wanted, const std::string& machines) {
  auto choice = choose_accelerator(wanted);
  if (!choice.ok()) {
    report.error("accelerator", choice.error().message, "no machine starts without it", "set accelerator to \"auto\" in harena.json");
    return choice;
  }
  const bool kvm = choice->accelerator == Accelerator::kvm;
  report.label("accelerator", kvm ? "kvm" : "tcg");
  report.fact("accelerator_why", choice->why);
  if (kvm) report.ok("accelerator", machines + " run with KVM");
  else report.warning("accelerator", machines + " run under QEMU's emulation (TCG), several times slower", choice->why,
                      wanted == "tcg" ? "set accelerator to \"auto\" in harena.json"
                                      : "modprobe kvm_intel or kvm_amd; in a VM, turn nested virtualisation on (CPU flags vmx or svm)");
  return choice;
}

void report_limits(HostReport& report, const std::set<std::string>& allow_missing) {
  const auto layout = detect_cgroups();
  if (!layout.ok()) {
    report.error("limits", layout.error().message, "machines have limits of cpu, memory and processes",
                 "mount a cgroup hierarchy: mount -t cgroup2 none /sys/fs/cgroup");
    return;
  }
  std::string there;
  for (const std::string limit : {"cpu", "memory", "pids"}) {
    if (layout->v2_controllers.count(limit) != 0 || layout->v1_roots.count(limit) != 0) {
      there += (there.empty() ? "" : ", ") + limit;
      continue;
    }
    const std::string what = "the limit '" + limit + "' can't be set: no hierarchy has the controller";
    const std::string fix = "take it out of cgroup_disable= on the kernel's command line";
    if (allow_missing.count(limit) != 0) report.warning("limits." + limit, what, "allow_missing_limits allows it: machines run without", fix);
    else report.error("limits." + limit, what, "a machine never runs without its limits",
                      fix + ", or allow it by allow_missing_limits in harena.json");
  }
  if (!there.empty()) report.ok("limits", "limits that machines have here: " + there);
}

void report_vmm(HostReport& report, const std::string& name, const std::string& path, VersionCache& versions) {
  auto version = versions.of(path);
  if (version.ok()) {
    report.label("vmm", name + " " + *version);
    report.ok("vmm", name + " " + *version + " runs machines");
    return;
  }
  if (version.error().code == ErrorCode::deadline_exceeded) {
    // Slow isn't broken: it is asked again at the next probe, and machines may start meanwhile.
    report.warning("vmm", name + "'s version isn't known yet", version.error().message, "wait until the host is less busy");
    return;
  }
  report.error("vmm", version.error().message, "machines run in it", "install it again");
}

}  // namespace harena::vmm
