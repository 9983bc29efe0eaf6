#include <fcntl.h>

#include "plugins/container/doctor/findings.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

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

/// Two sandboxes on the threads of one core read each other through the CPU's holes where the kernel says that they are open for that.
void find_smt(const HostView& host, Findings& found) {
  const std::string folder = "/sys/devices/system/cpu/vulnerabilities";
  const bool on = host.number("/sys/devices/system/cpu/smt/active") == 1;
  std::string open;
  if (auto names = list_directory(AT_FDCWD, host.root + folder); on && names.ok()) {
    for (const auto& name : *names) {
      if (host.text(folder + "/" + name).find("SMT vulnerable") != std::string::npos) open += (open.empty() ? "" : ", ") + name;
    }
  }
  if (open.empty()) return found.ok("smt", on ? "sandboxes share cores by threads, with no known hole between them" : "no two sandboxes share a core at one time");
  found.warning("smt", "two threads of a core run different sandboxes, and the CPU leaks between them: " + open, "a sandbox may read what its neighbour on the same core works with",
                "echo off > /sys/devices/system/cpu/smt/control, and nosmt on the kernel's command line");
}

void find_filter_speed(const HostView& host, Findings& found) {
  if (host.number("/proc/sys/net/core/bpf_jit_enable") != 0) return found.ok("bpf_jit", "system call filters are compiled");
  found.warning("bpf_jit", "net.core.bpf_jit_enable is 0", "every system call in a sandbox interprets the filter: several times slower",
                "sysctl -w net.core.bpf_jit_enable=1 && echo net.core.bpf_jit_enable=1 > /etc/sysctl.d/60-harena-bpf_jit.conf");
}

}  // namespace

void find_hardening(const HostView& host, const Settings& settings, Findings& found) {
  find_seccomp(host, found);
  find_filter_speed(host, found);
  find_confinement(host, settings, found);
  find_smt(host, found);
  find_landlock(host, found);
  find_dumps(host, found);
  find_cpu(host, found);
}

}  // namespace harena::container
