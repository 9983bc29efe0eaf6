#include <array>

#include "plugins/container/doctor/findings.hpp"

namespace harena::container {
namespace {

void find_version(const HostView& host, const Settings& settings, Findings& found) {
  if (!host.kernel_at_least(5, 19)) {
    return found.error("kernel", "Linux " + host.kernel_release, "id-mapped EROFS layers need Linux 5.19: no image can be mounted for a sandbox",
                       "install a newer kernel (apt-get install linux-image-amd64 from backports) and reboot");
  }
  const bool from_file = host.kernel_at_least(6, 12) && settings.layer_mount != "loop";
  found.ok("kernel", "Linux " + host.kernel_release + "; layers are mounted " + (from_file ? "from their files" : "through loop devices"));
  if (from_file || host.exists("/dev/loop-control")) return;
  found.error("loop", "/dev/loop-control is missing", "before Linux 6.12 an EROFS layer is mounted through a loop device", "modprobe loop");
}

void find_filesystems(const HostView& host, Findings& found) {
  for (const std::string type : {"erofs", "overlay"}) {
    if (host.has_filesystem(type)) {
      found.ok(type, "the kernel has " + type);
    } else {
      found.error(type, "the kernel has no file system " + type, type == "erofs" ? "image layers are EROFS" : "a sandbox's root is an overlay of its layers",
                  "modprobe " + type + " (package linux-modules-extra-$(uname -r) on Ubuntu's cloud kernels)");
    }
  }
}

void find_namespaces(const HostView& host, Findings& found) {
  constexpr std::int64_t kFew = 2000;
  for (const std::string kind : {"user", "net", "ipc", "uts", "pid", "mnt", "cgroup"}) {
    const std::string path = "/proc/sys/user/max_" + kind + "_namespaces";
    const std::string name = "user.max_" + kind + "_namespaces", id = "namespaces." + kind;
    const auto most = host.number(path);
    if (!most) {
      found.error(id, "the kernel has no " + kind + " namespaces", "every sandbox has one of its own", "boot a distribution's kernel");
    } else if (*most == 0) {
      found.error(id, name + " is 0", "every sandbox has one of its own", "sysctl -w " + name + "=65536");
    } else if (*most < kFew) {
      found.warning(id, name + " is " + std::to_string(*most), "no more sandboxes than that can live at once", "sysctl -w " + name + "=65536");
    } else {
      found.ok(id, kind + " namespaces: up to " + std::to_string(*most));
    }
  }
}

void find_devices(const HostView& host, Findings& found) {
  if (host.exists("/dev/fuse")) return found.ok("fuse", "/dev/fuse is there");
  found.warning("fuse", "/dev/fuse is missing", "lxcfs (limits shown inside) and remote image stores are FUSE file systems", "modprobe fuse");
}

}  // namespace

void find_kernel(const HostView& host, const Settings& settings, Findings& found) {
  if (!host.is_root) found.error("root", "harenad isn't root", "namespaces, mounts and cgroups of sandboxes can't be made otherwise", "run it as root (deploy/systemd)");
  find_version(host, settings, found);
  find_filesystems(host, found);
  find_namespaces(host, found);
  find_devices(host, found);
}

json container_findings(const HostView& host, const Settings& settings) {
  Findings found;
  find_kernel(host, settings, found);
  find_cgroups(host, settings, found);
  find_machine_limits(host, found);
  find_hardening(host, settings, found);
  find_installation(host, settings, found);
  return found.list();
}

}  // namespace harena::container
