#include "plugins/container/launcher/root_tree.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

#include "plugins/container/launcher/cpu_views.hpp"
#include "plugins/container/launcher/lxcfs_mounts.hpp"
#include "plugins/container/launcher/masked_paths.hpp"
#include "plugins/container/launcher/tools_mount.hpp"
#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena::container {

namespace {

constexpr unsigned kNoAccess = kMountNoSuid | kMountNoDev | kMountNoExec;

/// Opens path as someone chrooted in `root` would: no link of the image leads out of it.
Result<UniqueFd> open_in_root(int root, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
  if (!fd) return errno_error(errno, "open /" + path + " of the image");
  return fd;
}

}  // namespace

Result<UniqueFd> folder_in_root(int root, const std::string& path, std::uint32_t first_id) {
  auto there = open_in_root(root, path, O_PATH | O_DIRECTORY);
  if (there.ok() || there.error().code != ErrorCode::not_found) return there;
  const std::size_t slash = path.rfind('/');
  HARENA_TRY(UniqueFd parent, slash == std::string::npos ? open_in_root(root, ".", O_PATH | O_DIRECTORY)
                                                         : folder_in_root(root, path.substr(0, slash), first_id));
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (::mkdirat(parent.get(), name.c_str(), 0755) != 0 && errno != EEXIST) return errno_error(errno, "make /" + path);
  if (::fchownat(parent.get(), name.c_str(), first_id, first_id, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno_error(errno, "chown /" + path);
  }
  return open_in_root(root, path, O_PATH | O_DIRECTORY);
}

namespace {

Status mount_in_root(int mount, int root, const std::string& path, std::uint32_t first_id) {
  HARENA_TRY(UniqueFd spot, folder_in_root(root, path, first_id));
  return attach_mount(mount, spot.get(), "");
}

MountOptions tmpfs_options(std::uint32_t first_id, std::int64_t bytes, const char* mode) {
  const std::string root_id = std::to_string(first_id);
  return {{"size", std::to_string(bytes)}, {"mode", mode}, {"uid", root_id}, {"gid", root_id}};
}

struct Device {
  const char* name;
  unsigned minor;
  unsigned major;
};
constexpr Device kDevices[] = {{"null", 3, 1}, {"zero", 5, 1}, {"full", 7, 1}, {"random", 8, 1}, {"urandom", 9, 1}, {"tty", 0, 5}};
constexpr const char* kDeviceLinks[][2] = {{"/proc/self/fd", "fd"},          {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"},
                                           {"/proc/self/fd/2", "stderr"}, {"pts/ptmx", "ptmx"}};

Status own(int folder, const char* name, std::uint32_t first_id) {
  if (::fchownat(folder, name, first_id, first_id, AT_SYMLINK_NOFOLLOW) == 0) return {};
  return errno_error(errno, "chown /dev/" + std::string(name));
}

/// Nodes are made, not bound from the host's /dev: the sandbox shares no inode with it.
Status fill_dev(int dev, std::uint32_t first_id) {
  for (const auto& device : kDevices) {
    if (::mknodat(dev, device.name, S_IFCHR | 0666, makedev(device.major, device.minor)) != 0) {
      return errno_error(errno, "mknod /dev/" + std::string(device.name));
    }
    // The umask took the others' right to write: every user has it on these.
    if (::fchmodat(dev, device.name, 0666, 0) != 0) return errno_error(errno, "chmod /dev/" + std::string(device.name));
    HARENA_TRY_STATUS(own(dev, device.name, first_id));
  }
  for (const auto& [target, name] : kDeviceLinks) {
    if (::symlinkat(target, dev, name) != 0) return errno_error(errno, "symlink in /dev");
    HARENA_TRY_STATUS(own(dev, name, first_id));
  }
  for (const char* folder : {"pts", "shm"}) {
    if (::mkdirat(dev, folder, 0755) != 0) return errno_error(errno, "mkdir in /dev");
    HARENA_TRY_STATUS(own(dev, folder, first_id));
  }
  return {};
}

Result<UniqueFd> mount_dev(const BlankRequest& blank) {
  constexpr std::int64_t kDevBytes = 64 * 1024;
  HARENA_TRY(UniqueFd dev, new_filesystem("tmpfs", tmpfs_options(blank.first_id, kDevBytes, "0755"), kMountNoSuid | kMountNoExec));
  HARENA_TRY_STATUS(fill_dev(dev.get(), blank.first_id));
  HARENA_TRY_STATUS(attach_mount(dev.get(), AT_FDCWD, "/dev"));
  // gid 5 is tty in every distribution; grantpt(3) expects it.
  const std::string tty_group = std::to_string(blank.first_id + 5);
  HARENA_TRY(UniqueFd pts, new_filesystem("devpts", {{"ptmxmode", "0666"}, {"mode", "0620"}, {"gid", tty_group}},
                                          kMountNoSuid | kMountNoExec));
  HARENA_TRY_STATUS(attach_mount(pts.get(), dev.get(), "pts"));
  HARENA_TRY(UniqueFd shm, new_filesystem("tmpfs", tmpfs_options(blank.first_id, blank.shm_bytes, "1777"), kNoAccess));
  HARENA_TRY_STATUS(attach_mount(shm.get(), dev.get(), "shm"));
  return dev;
}

Status attach_tools(int tools, int dev) {
  constexpr std::string_view kName = std::string_view(kToolsPath).substr(sizeof "/dev/" - 1);
  HARENA_TRY(UniqueFd spot, ensure_directory(dev, std::string(kName), 0755));
  return attach_mount(tools, spot.get(), "");
}

bool in_tree(int root, const char* path) { return ::faccessat(root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0; }

Status mask_files(int root, int dev) {
  for (const char* path : kMaskedFiles) {
    if (!in_tree(root, path)) continue;
    HARENA_TRY(UniqueFd null, clone_mount(dev, "null"));
    HARENA_TRY_STATUS(attach_mount(null.get(), root, path));
  }
  return {};
}

/// One empty read-only tmpfs, bound wherever nothing is to be seen.
Status mask_folders(int root, std::uint32_t first_id) {
  const char* first = nullptr;
  for (const char* path : kMaskedFolders) {
    if (!in_tree(root, path)) continue;
    if (first == nullptr) {
      HARENA_TRY(UniqueFd made, new_filesystem("tmpfs", tmpfs_options(first_id, 4096, "0555"), kNoAccess | kMountReadOnly));
      HARENA_TRY_STATUS(attach_mount(made.get(), root, path));
      first = path;
      continue;
    }
    HARENA_TRY(UniqueFd empty, clone_mount(root, first));
    HARENA_TRY_STATUS(attach_mount(empty.get(), root, path));
  }
  return {};
}

Status make_read_only(int root) {
  for (const char* path : kReadOnlyFolders) {
    if (!in_tree(root, path)) continue;
    HARENA_TRY(UniqueFd same, clone_mount(root, path));
    HARENA_TRY_STATUS(restrict_mount(same.get(), kMountReadOnly | kNoAccess));
    HARENA_TRY_STATUS(attach_mount(same.get(), root, path));
  }
  return {};
}

Status mount_tmpfs_list(int root, const SandboxRequest& request) {
  for (const auto& entry : request.tmpfs) {
    const std::size_t equals = entry.rfind('=');
    HARENA_TRY(auto bytes, parse_int(std::string_view(entry).substr(equals + 1), 1, INT64_MAX, "tmpfs size"));
    const std::string path = entry.substr(1, equals - 1);  // without the leading slash
    HARENA_TRY(UniqueFd tmpfs, new_filesystem("tmpfs", tmpfs_options(request.first_id, bytes, path == "run" ? "0755" : "1777"),
                                              kMountNoSuid | kMountNoDev));
    HARENA_TRY_STATUS(mount_in_root(tmpfs.get(), root, path, request.first_id));
  }
  return {};
}

/// A regular file of the image is replaced; whatever else has its name is left as the image has it.
Status write_etc(int etc, const char* name, const std::string& text, const SandboxRequest& request) {
  if (::unlinkat(etc, name, 0) != 0 && errno != ENOENT) return {};
  UniqueFd file(::openat(etc, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file) return errno_error(errno, "create /etc/" + std::string(name));
  if (::write(file.get(), text.data(), text.size()) < 0) return errno_error(errno, "write /etc/" + std::string(name));
  if (::fchown(file.get(), request.first_id, request.first_id) != 0) return errno_error(errno, "chown in /etc");
  return {};
}

/// Names of this sandbox. Nothing of the machine that built the image stays in them (its resolvers, say).
Status write_names(int root, const SandboxRequest& request) {
  if (request.readonly_rootfs) return {};
  HARENA_TRY(UniqueFd etc_path, folder_in_root(root, "etc", request.first_id));
  HARENA_TRY(UniqueFd etc, open_in_root(root, "etc", O_RDONLY | O_DIRECTORY));
  HARENA_TRY_STATUS(write_etc(etc.get(), "hostname", request.hostname + "\n", request));
  HARENA_TRY_STATUS(write_etc(etc.get(), "hosts",
                              "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.1.1\t" + request.hostname + "\n", request));
  return write_etc(etc.get(), "resolv.conf", "# no network\n", request);
}

Status become_root_folder(int root) {
  if (::fchdir(root) != 0) return errno_error(errno, "fchdir to the sandbox's root");
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return errno_error(errno, "pivot_root");
  if (::umount2(".", MNT_DETACH) != 0) return errno_error(errno, "detach the host's root");
  if (::chdir("/") != 0) return errno_error(errno, "chdir /");
  return {};
}

}  // namespace

Result<BlankTree> prepare_tree(const BlankRequest& blank, int tools, const std::string& spot) {
  BlankTree tree;
  // Before the attaching of anything: a new mount of proc shows the pid namespace that its maker is in.
  HARENA_TRY(tree.proc, new_filesystem("proc", {}, kNoAccess));
  HARENA_TRY(tree.sys, new_filesystem("sysfs", {}, kNoAccess | kMountReadOnly));
  HARENA_TRY_STATUS(attach_mount(tree.proc.get(), AT_FDCWD, "/proc"));
  HARENA_TRY_STATUS(attach_mount(tree.sys.get(), AT_FDCWD, "/sys"));
  HARENA_TRY(tree.dev, mount_dev(blank));
  HARENA_TRY(UniqueFd root, open_directory(AT_FDCWD, "/"));
  if (tools >= 0) HARENA_TRY_STATUS(attach_tools(tools, tree.dev.get()));
  HARENA_TRY_STATUS(mask_files(root.get(), tree.dev.get()));
  HARENA_TRY_STATUS(mask_folders(root.get(), blank.first_id));
  HARENA_TRY_STATUS(make_read_only(root.get()));
  HARENA_TRY_STATUS(mount_lxcfs(blank, root.get()));
  HARENA_TRY(tree.scratch, new_filesystem("tmpfs", {{"mode", "0700"}, {"size", "64k"}}, kNoAccess));
  HARENA_TRY_STATUS(attach_mount(tree.scratch.get(), AT_FDCWD, spot));
  return tree;
}

Status enter_root_tree(const SandboxRequest& request, const BlankTree& tree, int root, std::span<const UniqueFd> of_host,
                       const std::string& spot) {
  HARENA_TRY_STATUS(attach_mount(root, AT_FDCWD, spot));
  // Attached ones move, with all that is mounted on them.
  const std::pair<int, const char*> parts[] = {{tree.proc.get(), "proc"}, {tree.sys.get(), "sys"}, {tree.dev.get(), "dev"}};
  for (const auto& [mount, path] : parts) HARENA_TRY_STATUS(mount_in_root(mount, root, path, request.first_id));
  if (request.cpus > 0) HARENA_TRY_STATUS(mount_cpu_views(root, spot, request.cpus));
  HARENA_TRY_STATUS(write_names(root, request));
  HARENA_TRY_STATUS(mount_tmpfs_list(root, request));
  for (std::size_t i = 0; i < of_host.size(); ++i) {
    HARENA_TRY_STATUS(mount_in_root(of_host[i].get(), root, request.mount_targets.at(i).substr(1), request.first_id));
  }
  return become_root_folder(root);
}

}  // namespace harena::container
