#include <fcntl.h>

#include "plugins/container/doctor/findings.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

void find_apparmor(const HostView& host, Findings& found) {
  const bool in_kernel = host.text("/sys/module/apparmor/parameters/enabled").starts_with("Y");
  const bool has_parser = host.exists("/usr/sbin/apparmor_parser") || host.exists("/sbin/apparmor_parser");
  if (in_kernel && has_parser) return found.ok("apparmor", "the kernel has AppArmor, and sandboxes a profile");
  if (in_kernel) {
    return found.warning("apparmor", "the kernel has AppArmor, but apparmor_parser isn't installed", "no profile can be loaded: sandboxes run without",
                         "apt-get install apparmor");
  }
  found.warning("apparmor", "this kernel has no AppArmor, or it is switched off",
                "one line of defence less; namespaces, capabilities and the system call filter hold by themselves",
                "boot a kernel that has it, with apparmor=1 security=apparmor on its command line");
}

void find_landlock(const HostView& host, Findings& found) {
  if (host.landlock_version > 0) return found.ok("landlock", "Landlock version " + std::to_string(host.landlock_version));
  found.warning("landlock", "this kernel has no Landlock, or it is switched off", "programs in sandboxes that confine themselves with it can't",
                "add lsm=landlock,... (with what is in /sys/kernel/security/lsm behind it) to the kernel's command line");
}

void find_seccomp(const HostView& host, Findings& found) {
  if (host.exists("/proc/sys/kernel/seccomp/actions_avail")) return found.ok("seccomp", "the kernel filters system calls");
  found.error("seccomp", "the kernel has no seccomp filters", "without one a sandbox could make any system call", "boot a distribution's kernel (CONFIG_SECCOMP_FILTER)");
}

/// fs.suid_dumpable = 1 makes execute-only programs dumpable, so traceable: the trusted tools rest on that not being so.
void find_dumps(const HostView& host, Findings& found) {
  if (host.number("/proc/sys/fs/suid_dumpable") == 1) {
    found.error("suid_dumpable", "fs.suid_dumpable is 1 (a debugging aid)", "trusted tools could be traced by the agent, set-uid programs of the machine by anybody", "sysctl -w fs.suid_dumpable=0");
  } else {
    found.ok("suid_dumpable", "processes of execute-only programs can't be traced");
  }
  const std::string pattern = host.text("/proc/sys/kernel/core_pattern");
  if (!pattern.starts_with("|")) return found.ok("core_pattern", "core dumps start no program of the machine");
  found.warning("core_pattern", "core dumps are piped into " + pattern.substr(1, pattern.find_first_of(" \n") - 1),
                "a crash in a sandbox feeds a program that runs as root of the machine with what the agent wrote", "sysctl -w kernel.core_pattern=core");
}

void find_cpu(const HostView& host, Findings& found) {
  const std::string folder = "/sys/devices/system/cpu/vulnerabilities";
  std::string weak;
  if (auto names = list_directory(AT_FDCWD, host.root + folder); names.ok()) {
    for (const auto& name : *names) {
      if (host.text(folder + "/" + name).starts_with("Vulnerable")) weak += (weak.empty() ? "" : ", ") + name;
    }
  }
  if (weak.empty()) return found.ok("cpu", "no known hole of this CPU is open");
  found.warning("cpu", "the CPU is vulnerable: " + weak, "a sandbox may read memory of its neighbours or of the machine through it",
                "install the CPU's microcode (intel-microcode, amd64-microcode), remove mitigations=off from the kernel's command line, reboot");
}

}  // namespace

void find_hardening(const HostView& host, const Settings&, Findings& found) {
  find_seccomp(host, found);
  find_apparmor(host, found);
  find_landlock(host, found);
  find_dumps(host, found);
  find_cpu(host, found);
}

}  // namespace harena::container
