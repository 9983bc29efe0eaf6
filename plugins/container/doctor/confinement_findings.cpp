#include "plugins/container/apparmor.hpp"
#include "plugins/container/doctor/findings.hpp"
#include "sdk/base/text.hpp"

namespace harena::container {
namespace {

/// "enforce", "complain" ..., as the kernel lists it; empty when it isn't loaded.
std::string mode_of(const HostView& host, const std::string& profile) {
  for (const auto& line : split(host.text("/sys/kernel/security/apparmor/profiles", 4 << 20), '\n')) {
    if (!line.starts_with(profile + " (")) continue;
    const std::string mode = line.substr(profile.size() + 2);
    return mode.substr(0, mode.find(')'));
  }
  return {};
}

void find_absent(const Settings& settings, Findings& found) {
  const std::string what = "this kernel has no AppArmor, or it is switched off", fix = "boot a kernel that has it, with apparmor=1 security=apparmor on its command line";
  if (settings.apparmor == ApparmorMode::required) return found.error("apparmor", what, "the setting apparmor is \"required\": no sandbox is made", fix + ", or set \"auto\"");
  found.warning("apparmor", what, "one line of defence less; namespaces, capabilities and the system call filter hold by themselves", fix);
}

void find_profile(const HostView& host, const Settings& settings, Findings& found) {
  const std::string profile = apparmor_profile_name(settings.instance), mode = mode_of(host, profile);
  // The securityfs may not be mounted (in a container), and the profile comes with the first sandbox.
  if (mode.empty() || mode == "enforce") return found.ok("apparmor", mode.empty() ? "the kernel has AppArmor, and sandboxes a profile" : "the AppArmor profile " + profile + " is enforced");
  found.warning("apparmor", "the AppArmor profile " + profile + " is in mode " + mode, "it refuses nothing: somebody switched it for debugging", "aa-enforce " + profile + ", or systemctl restart harenad");
}

/// Ubuntu 23.10 and later: a process without a profile that makes a user namespace gets no capabilities in it. Root does.
void find_user_namespace_rule(const HostView& host, Findings& found) {
  if (host.number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") != 1) return;
  found.ok("apparmor.userns", "kernel.apparmor_restrict_unprivileged_userns is 1: it concerns programs without root, not harenad");
}

}  // namespace

void find_confinement(const HostView& host, const Settings& settings, Findings& found) {
  find_user_namespace_rule(host, found);
  if (settings.apparmor == ApparmorMode::off) return found.ok("apparmor", "AppArmor isn't used: the setting apparmor is \"off\"");
  if (!kernel_has_apparmor(host.root)) return find_absent(settings, found);
  if (host.exists("/usr/sbin/apparmor_parser") || host.exists("/sbin/apparmor_parser")) return find_profile(host, settings, found);
  const std::string what = "the kernel has AppArmor, but apparmor_parser isn't installed", fix = "apt-get install apparmor";
  if (settings.apparmor == ApparmorMode::required) return found.error("apparmor", what, "the setting apparmor is \"required\": no sandbox is made", fix);
  found.warning("apparmor", what, "no profile can be loaded: sandboxes run without", fix);
}

}  // namespace harena::container
