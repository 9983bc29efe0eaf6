#include "sdk/support/sandbox_root.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

namespace harena {

namespace {

struct Device {
  const char* name;
  unsigned minor;
  unsigned major;
};
constexpr Device kDevices[] = {{"null", 3, 1}, {"zero", 5, 1}, {"full", 7, 1}, {"random", 8, 1}, {"urandom", 9, 1}, {"tty", 0, 5}};
constexpr const char* kDeviceLinks[][2] = {{"/proc/self/fd", "fd"},       {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"},
                                           {"/proc/self/fd/2", "stderr"}, {"pts/ptmx", "ptmx"}};

Status own(int folder, const char* name, std::uint32_t owner) {
  if (::fchownat(folder, name, owner, owner, AT_SYMLINK_NOFOLLOW) == 0) return {};
  return errno_error(errno, "chown /dev/" + std::string(name));
}

Status fill_dev(int dev, std::uint32_t owner) {
  for (const auto& device : kDevices) {
    if (::mknodat(dev, device.name, S_IFCHR | 0666, makedev(device.major, device.minor)) != 0) {
      return errno_error(errno, "mknod /dev/" + std::string(device.name));
    }
    // The umask took the others' right to write: every user has it on these.
    if (::fchmodat(dev, device.name, 0666, 0) != 0) return errno_error(errno, "chmod /dev/" + std::string(device.name));
    HARENA_TRY_STATUS(own(dev, device.name, owner));
  }
  for (const auto& [target, name] : kDeviceLinks) {
    if (::symlinkat(target, dev, name) != 0) return errno_error(errno, "symlink in /dev");
    HARENA_TRY_STATUS(own(dev, name, owner));
  }
  for (const char* folder : {"pts", "shm"}) {
    if (::mkdirat(dev, folder, 0755) != 0) return errno_error(errno, "mkdir in /dev");
    HARENA_TRY_STATUS(own(dev, folder, owner));
  }
  return {};
}

bool in_tree(int root, const char* path) { return ::faccessat(root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0; }

}  // namespace

Result<UniqueFd> open_in_root(int root, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
  if (!fd) return errno_error(errno, "open /" + path + " of the image");
  return fd;
}

Result<UniqueFd> folder_in_root(int root, const std::string& path, std::uint32_t owner) {
  auto there = open_in_root(root, path, O_PATH | O_DIRECTORY);
  if (there.ok() || there.error().code != ErrorCode::not_found) return there;
  const std::size_t slash = path.rfind('/');
  HARENA_TRY(UniqueFd parent, slash == std::string::npos ? open_in_root(root, ".", O_PATH | O_DIRECTORY)
                                                         : folder_in_root(root, path.substr(0, slash), owner));
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (::mkdirat(parent.get(), name.c_str(), 0755) != 0 && errno != EEXIST) return errno_error(errno, "make /" + path);
  if (::fchownat(parent.get(), name.c_str(), owner, owner, AT_SYMLINK_NOFOLLOW) != 0) return errno_error(errno, "chown /" + path);
  return open_in_root(root, path, O_PATH | O_DIRECTORY);
}

Status mount_in_root(int mount, int root, const std::string& path, std::uint32_t owner) {
  HARENA_TRY(UniqueFd spot, folder_in_root(root, path, owner));
  return attach_mount(mount, spot.get(), "");
}

MountOptions tmpfs_options(std::uint32_t owner, const std::string& size, const char* mode) {
  const std::string id = std::to_string(owner);
  return {{"size", size}, {"mode", mode}, {"uid", id}, {"gid", id}};
}

Result<UniqueFd> make_dev(std::uint32_t owner) {
  HARENA_TRY(UniqueFd dev, new_filesystem("tmpfs", tmpfs_options(owner, "64k", "0755"), kMountNoSuid | kMountNoExec));
  HARENA_TRY_STATUS(fill_dev(dev.get(), owner));
  return dev;
}

Status mount_into_dev(int dev, std::uint32_t owner, const std::string& shm_size) {
  // gid 5 is tty in every distribution; grantpt(3) expects it.
  const std::string tty_group = std::to_string(owner + 5);
  HARENA_TRY(UniqueFd pts, new_filesystem("devpts", {{"ptmxmode", "0666"}, {"mode", "0620"}, {"gid", tty_group}}, kMountNoSuid | kMountNoExec));
  HARENA_TRY_STATUS(attach_mount(pts.get(), dev, "pts"));
  HARENA_TRY(UniqueFd shm, new_filesystem("tmpfs", tmpfs_options(owner, shm_size, "1777"), kNoAccess));
  return attach_mount(shm.get(), dev, "shm");
}

Status mask_files(int root, int dev, std::span<const char* const> paths) {
  for (const char* path : paths) {
    if (!in_tree(root, path)) continue;
    HARENA_TRY(UniqueFd null, clone_mount(dev, "null"));
    HARENA_TRY_STATUS(attach_mount(null.get(), root, path));
  }
  return {};
}

/// One empty read-only tmpfs, bound wherever nothing is to be seen.
Status mask_folders(int root, std::uint32_t owner, std::span<const char* const> paths) {
  const char* first = nullptr;
  for (const char* path : paths) {
    if (!in_tree(root, path)) continue;
    if (first == nullptr) {
      HARENA_TRY(UniqueFd made, new_filesystem("tmpfs", tmpfs_options(owner, "4096", "0555"), kNoAccess | kMountReadOnly));
      HARENA_TRY_STATUS(attach_mount(made.get(), root, path));
      first = path;
      continue;
    }
    HARENA_TRY(UniqueFd empty, clone_mount(root, first));
    HARENA_TRY_STATUS(attach_mount(empty.get(), root, path));
  }
  return {};
}

Status make_read_only(int root, std::span<const char* const> paths) {
  for (const char* path : paths) {
    if (!in_tree(root, path)) continue;
    HARENA_TRY(UniqueFd same, clone_mount(root, path));
    HARENA_TRY_STATUS(restrict_mount(same.get(), kMountReadOnly | kNoAccess));
    HARENA_TRY_STATUS(attach_mount(same.get(), root, path));
  }
  return {};
}

Status write_etc(int etc, const char* name, const std::string& text, std::uint32_t owner) {
  if (::unlinkat(etc, name, 0) != 0 && errno != ENOENT) return {};
  UniqueFd file(::openat(etc, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file) return errno_error(errno, "create /etc/" + std::string(name));
  if (::write(file.get(), text.data(), text.size()) < 0) return errno_error(errno, "write /etc/" + std::string(name));
  if (::fchown(file.get(), owner, owner) != 0) return errno_error(errno, "chown /etc/" + std::string(name));
  return {};
}

Status fill_etc(int etc, const char* name, const std::string& text) {
  // Not emptied again: what is emptied and written anew is flushed by some file systems when it is closed.
  UniqueFd file(::openat(etc, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return errno == EISDIR ? Status() : Status(errno_error(errno, "open /etc/" + std::string(name)));
  if (::write(file.get(), text.data(), text.size()) < 0) return errno_error(errno, "write /etc/" + std::string(name));
  return {};
}

std::string hosts_text(const std::string& hostname) {
  return "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.1.1\t" + hostname + "\n";
}

Status become_root_folder(int root) {
  if (::fchdir(root) != 0) return errno_error(errno, "fchdir to the new root");
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return errno_error(errno, "pivot_root");
  if (::umount2(".", MNT_DETACH) != 0) return errno_error(errno, "detach the old root");
  if (::chdir("/") != 0) return errno_error(errno, "chdir /");
  return {};
}

}  // namespace harena
