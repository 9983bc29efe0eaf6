#include "guest/root_tree.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "guest/disks.hpp"
#include "guest/identity.hpp"
#include "guest/writable_disk.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/id_range.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena::guest {
namespace {

using session::ConfigureRequest;

constexpr unsigned kNoAccess = kMountNoSuid | kMountNoDev | kMountNoExec;
constexpr const char* kBuildFolder = "/run/build";

constexpr const char* kMaskedFiles[] = {
    "proc/kcore",       "proc/kmsg",        "proc/kpagecgroup", "proc/kpagecount", "proc/kpageflags", "proc/sysrq-trigger",
    "proc/timer_list",  "proc/latency_stats", "proc/sched_debug", "proc/keys",     "proc/key-users",  "proc/kallsyms",
    "proc/vmallocinfo", "proc/slabinfo",    "proc/iomem",       "proc/ioports",    "proc/interrupts", "proc/modules",
    "proc/cmdline",     "proc/bootconfig",  "proc/pagetypeinfo", "proc/kpageidle", "proc/vmcore",     "proc/allocinfo",
    "proc/config.gz",   "proc/mdstat",      "proc/swaps",       "proc/partitions", "proc/diskstats"};
// What would name the platform's channel and disks, and the kernel's innards.
constexpr const char* kMaskedFolders[] = {"proc/acpi",  "proc/asound", "proc/scsi", "proc/driver", "proc/fs", "sys/firmware", "sys/kernel/debug",
                                          "sys/kernel/tracing", "sys/kernel/security", "sys/kernel/slab", "sys/kernel/btf", "sys/fs", "sys/module",
                                          "sys/block", "sys/dev/block", "sys/class/block", "sys/devices/virtual/block", "sys/bus/virtio",
                                          "sys/class/virtio-ports", "sys/devices/LNXSYSTM:00", "sys/devices/platform", "sys/devices/pci0000:00"};
constexpr const char* kReadOnlyFolders[] = {"proc/sys", "proc/bus", "proc/irq", "proc/sysvipc", "proc/tty"};

Status attach_at(int mount, const std::string& path) {
  HARENA_TRY(UniqueFd spot, ensure_directory(AT_FDCWD, path, 0700));
  return attach_mount(mount, spot.get(), "");
}

Status attach_layer(const std::string& serial, const std::string& path, int user_namespace) {
  HARENA_TRY(auto device, disk_with_serial(serial));
  auto layer = new_filesystem("erofs", {{"source", device}, {"ro", ""}}, kMountReadOnly | kMountNoDev);
  if (!layer.ok()) {
    return infrastructure_error(ErrorCode::failed_precondition, "layer",
                                "layer '" + serial + "' can't be mounted as EROFS: " + layer.error().message);
  }
  HARENA_TRY_STATUS(idmap_mount(layer->get(), user_namespace));
  return attach_at(layer->get(), path);
}

std::string lower_option(std::size_t count) {
  std::string option;
  for (std::size_t i = count; i-- > 0;) option += (option.empty() ? "" : ":") + std::to_string(i);
  return option;
}

std::string build_path(const std::string& name) { return std::string(kBuildFolder) + "/" + name; }

/// By names relative to the build folder: the sandbox reads them in its mountinfo.
Result<UniqueFd> overlay_of(const ConfigureRequest& request) {
  if (::chdir(kBuildFolder) != 0) return errno_error(errno, "chdir to the build folder");
  return new_filesystem("overlay",
                        {{"source", "overlay"}, {"lowerdir", lower_option(request.layers.size())}, {"upperdir", "s/upper"}, {"workdir", "s/work"},
                         {"index", "off"}, {"metacopy", "off"}, {"redirect_dir", "nofollow"}},
                        kMountNoDev | (request.readonly_root ? kMountReadOnly : 0u));
}

/// Opens path as someone chrooted in `root` would: no link of the image leads out of it.
Result<UniqueFd> open_in_root(int root, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
  if (!fd) return errno_error(errno, "open /" + path + " of the image");
  return fd;
}

Status own(int folder, const char* name) {
  if (::fchownat(folder, name, kDefaultIdBase, kDefaultIdBase, AT_SYMLINK_NOFOLLOW) == 0) return {};
  return errno_error(errno, std::string("chown ") + name);
}

/// A folder directly below the root, made where the image has none.
Result<UniqueFd> folder_in_root(int root, const std::string& name) {
  auto there = open_in_root(root, name, O_PATH | O_DIRECTORY);
  if (there.ok() || there.error().code != ErrorCode::not_found) return there;
  if (::mkdirat(root, name.c_str(), 0755) != 0 && errno != EEXIST) return errno_error(errno, "make /" + name);
  HARENA_TRY_STATUS(own(root, name.c_str()));
  return open_in_root(root, name, O_PATH | O_DIRECTORY);
}

Status mount_in_root(int mount, int root, const std::string& name) {
  HARENA_TRY(UniqueFd spot, folder_in_root(root, name));
  return attach_mount(mount, spot.get(), "");
}

MountOptions tmpfs_options(const char* size, const char* mode) {
  const auto id = std::to_string(kDefaultIdBase);
  return {{"size", size}, {"mode", mode}, {"uid", id}, {"gid", id}};
}

struct Device {
  const char* name;
  unsigned minor;
  unsigned major;
};
constexpr Device kDevices[] = {{"null", 3, 1}, {"zero", 5, 1}, {"full", 7, 1}, {"random", 8, 1}, {"urandom", 9, 1}, {"tty", 0, 5}};
constexpr const char* kDeviceLinks[][2] = {{"/proc/self/fd", "fd"},       {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"},
                                           {"/proc/self/fd/2", "stderr"}, {"pts/ptmx", "ptmx"}};

Status fill_dev(int dev) {
  for (const auto& device : kDevices) {
    if (::mknodat(dev, device.name, S_IFCHR | 0666, makedev(device.major, device.minor)) != 0) {
      return errno_error(errno, std::string("mknod /dev/") + device.name);
    }
    if (::fchmodat(dev, device.name, 0666, 0) != 0) return errno_error(errno, std::string("chmod /dev/") + device.name);
    HARENA_TRY_STATUS(own(dev, device.name));
  }
  for (const auto& [target, name] : kDeviceLinks) {
    if (::symlinkat(target, dev, name) != 0) return errno_error(errno, std::string("symlink /dev/") + name);
    HARENA_TRY_STATUS(own(dev, name));
  }
  for (const char* folder : {"pts", "shm"}) {
    if (::mkdirat(dev, folder, 0755) != 0) return errno_error(errno, std::string("mkdir /dev/") + folder);
    HARENA_TRY_STATUS(own(dev, folder));
  }
  return {};
}

Status attach_tools(int dev) {
  HARENA_TRY(UniqueFd tools, clone_mount(AT_FDCWD, kToolsFolder));
  HARENA_TRY_STATUS(restrict_mount(tools.get(), kMountReadOnly | kMountNoSuid | kMountNoDev));
  HARENA_TRY(UniqueFd spot, ensure_directory(dev, std::string(kToolsPath).substr(sizeof "/dev/" - 1), 0755));
  return attach_mount(tools.get(), spot.get(), "");
}

Result<UniqueFd> mount_dev(const ConfigureRequest& request, int root) {
  HARENA_TRY(UniqueFd dev, new_filesystem("tmpfs", tmpfs_options("64k", "0755"), kMountNoSuid | kMountNoExec));
  HARENA_TRY_STATUS(fill_dev(dev.get()));
  HARENA_TRY_STATUS(mount_in_root(dev.get(), root, "dev"));
  // gid 5 is tty in every distribution; grantpt(3) expects it.
  const auto tty_group = std::to_string(kDefaultIdBase + 5);
  HARENA_TRY(UniqueFd pts, new_filesystem("devpts", {{"ptmxmode", "0666"}, {"mode", "0620"}, {"gid", tty_group}}, kMountNoSuid | kMountNoExec));
  HARENA_TRY_STATUS(attach_mount(pts.get(), dev.get(), "pts"));
  HARENA_TRY(UniqueFd shm, new_filesystem("tmpfs", tmpfs_options("50%", "1777"), kNoAccess));
  HARENA_TRY_STATUS(attach_mount(shm.get(), dev.get(), "shm"));
  if (request.tools) HARENA_TRY_STATUS(attach_tools(dev.get()));
  return dev;
}

bool in_tree(int root, const char* path) { return ::faccessat(root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0; }

Status mask(int root, int dev) {
  for (const char* path : kMaskedFiles) {
    if (!in_tree(root, path)) continue;
    HARENA_TRY(UniqueFd null, clone_mount(dev, "null"));
    HARENA_TRY_STATUS(attach_mount(null.get(), root, path));
  }
  for (const char* path : kMaskedFolders) {
    if (!in_tree(root, path)) continue;
    HARENA_TRY(UniqueFd empty, new_filesystem("tmpfs", tmpfs_options("4k", "0555"), kNoAccess | kMountReadOnly));
    HARENA_TRY_STATUS(attach_mount(empty.get(), root, path));
  }
  for (const char* path : kReadOnlyFolders) {
    if (!in_tree(root, path)) continue;
    HARENA_TRY(UniqueFd same, clone_mount(root, path));
    HARENA_TRY_STATUS(restrict_mount(same.get(), kMountReadOnly | kNoAccess));
    HARENA_TRY_STATUS(attach_mount(same.get(), root, path));
  }
  return {};
}

Status become_root_folder(int root) {
  if (::fchdir(root) != 0) return errno_error(errno, "fchdir to the sandbox's root");
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return errno_error(errno, "pivot_root");
  if (::umount2(".", MNT_DETACH) != 0) return errno_error(errno, "detach the initramfs");
  if (::chdir("/") != 0) return errno_error(errno, "chdir /");
  return {};
}

}  // namespace

Result<UniqueFd> make_overlay(const ConfigureRequest& request, int user_namespace) {
  HARENA_TRY(UniqueFd folder, ensure_directory(AT_FDCWD, kBuildFolder, 0700));
  for (std::size_t i = 0; i < request.layers.size(); ++i) {
    HARENA_TRY_STATUS(attach_layer(request.layers[i], build_path(std::to_string(i)), user_namespace));
  }
  HARENA_TRY(UniqueFd disk, clone_mount(AT_FDCWD, kDiskFolder));
  HARENA_TRY_STATUS(attach_at(disk.get(), build_path("s")));
  auto overlay = overlay_of(request);
  if (::chdir("/") != 0) return errno_error(errno, "chdir /");
  // The overlay holds its layers itself.
  for (std::size_t i = 0; i < request.layers.size(); ++i) (void)detach_mount(build_path(std::to_string(i)));
  (void)detach_mount(build_path("s"));
  return overlay;
}

Status enter_root_tree(const ConfigureRequest& request, int root) {
  HARENA_TRY(UniqueFd proc, new_filesystem("proc", {}, kNoAccess));
  HARENA_TRY(UniqueFd sys, new_filesystem("sysfs", {}, kNoAccess | kMountReadOnly));
  HARENA_TRY_STATUS(attach_at(root, "/run/sandbox"));
  HARENA_TRY_STATUS(mount_in_root(proc.get(), root, "proc"));
  HARENA_TRY_STATUS(mount_in_root(sys.get(), root, "sys"));
  HARENA_TRY(UniqueFd dev, mount_dev(request, root));
  HARENA_TRY_STATUS(mask(root, dev.get()));
  if (!request.readonly_root) HARENA_TRY_STATUS(write_names(root, request.identity));
  return become_root_folder(root);
}

}  // namespace harena::guest
