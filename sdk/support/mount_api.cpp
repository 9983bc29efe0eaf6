#include "sdk/support/mount_api.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"

namespace harena {
namespace {

// Numbers and structs of include/uapi/linux/mount.h, whose header can't be included beside glibc's <sys/mount.h>.
constexpr unsigned kOpenTreeClone = 1;
constexpr unsigned kMoveFromEmptyPath = 0x4;
constexpr unsigned kMoveToEmptyPath = 0x40;
constexpr unsigned kAttributeIdmap = 0x00100000;
constexpr unsigned kConfigSetFlag = 0;
constexpr unsigned kConfigSetString = 1;
constexpr unsigned kConfigCreate = 6;
struct MountAttributes {
  std::uint64_t set, clear, propagation, user_namespace_fd;
};

int fs_config(int fd, unsigned command, const char* key, const char* value) {
  return static_cast<int>(::syscall(SYS_fsconfig, fd, command, key, value, 0));
}

/// What the kernel has to say about the failure: lines "e text" read from the context.
std::string kernel_log(int context) {
  std::string text;
  char line[512];
  for (ssize_t got; (got = ::read(context, line, sizeof line)) > 0;) {
    std::string_view message(line, static_cast<std::size_t>(got));
    if (message.size() > 2 && message[1] == ' ') message.remove_prefix(2);
    while (!message.empty() && message.back() == '\n') message.remove_suffix(1);
    text += (text.empty() ? " (" : "; ") + std::string(message);
  }
  return text.empty() ? text : text + ")";
}

Error mount_error(int context, int error, const std::string& what) {
  return errno_error(error, what + kernel_log(context));
}

Status change_attributes(int fd, const MountAttributes& attributes) {
  if (::syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0) {
    return errno_error(errno, "mount_setattr");
  }
  return {};
}

/// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

Result<UniqueFd> new_filesystem(const std::string& type, const MountOptions& options, unsigned attributes) {
  UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, type.c_str(), 1 /* FSOPEN_CLOEXEC */)));
  if (!context) return errno_error(errno, "fsopen " + type);
  for (const auto& [key, value] : options) {
    const bool flag = value.empty();
    if (fs_config(context.get(), flag ? kConfigSetFlag : kConfigSetString, key.c_str(),
                  flag ? nullptr : value.c_str()) != 0) {
      return mount_error(context.get(), errno, "option " + key + "=" + value + " of " + type);
    }
  }
  if (fs_config(context.get(), kConfigCreate, nullptr, nullptr) != 0) {
    return mount_error(context.get(), errno, "mount " + type);
  }
  UniqueFd mount(static_cast<int>(::syscall(SYS_fsmount, context.get(), 1 /* FSMOUNT_CLOEXEC */, attributes)));
  if (!mount) return mount_error(context.get(), errno, "fsmount " + type);
  return mount;
}

Result<UniqueFd> clone_mount(int at, const std::string& path) {
  unsigned flags = kOpenTreeClone | O_CLOEXEC | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW;
  if (path.empty()) flags |= AT_EMPTY_PATH;
  UniqueFd fd(static_cast<int>(::syscall(SYS_open_tree, at, path.c_str(), flags)));
  if (!fd) return errno_error(errno, "open_tree " + path);
  return fd;
}

Result<UniqueFd> clone_mount_tree(int at, const std::string& path) {
  const unsigned flags = kOpenTreeClone | AT_RECURSIVE | O_CLOEXEC | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW;
  UniqueFd fd(static_cast<int>(::syscall(SYS_open_tree, at, path.c_str(), flags)));
  if (!fd) return errno_error(errno, "open_tree of all below " + path);
  return fd;
}

Status attach_mount(int mount_fd, int at, const std::string& path) {
  const unsigned flags = kMoveFromEmptyPath | (path.empty() ? kMoveToEmptyPath : 0);
  if (::syscall(SYS_move_mount, mount_fd, "", at, path.c_str(), flags) != 0) {
    return errno_error(errno, "move_mount to " + (path.empty() ? "a descriptor" : path));
  }
  return {};
}

Status restrict_mount(int mount_fd, unsigned attributes) {
  return change_attributes(mount_fd, {attributes, 0, 0, 0});
}

Status idmap_mount(int mount_fd, int user_namespace_fd) {
  auto status = change_attributes(mount_fd, {kAttributeIdmap, 0, 0, static_cast<std::uint64_t>(user_namespace_fd)});
  if (status.ok() || status.error().code != ErrorCode::invalid_argument) return status;
  return make_error(ErrorCode::unimplemented,
                    "the file system of this mount or the kernel has no id-mapped mounts (EROFS has them from Linux 5.19)");
}

Status detach_mount(const std::string& path) {
  if (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0 || errno == EINVAL || errno == ENOENT) return {};
  return errno_error(errno, "umount " + path);
}

Result<std::vector<MountEntry>> mount_table(const std::string& pid) {
  HARENA_TRY(auto text, read_file_at(AT_FDCWD, "/proc/" + pid + "/mountinfo", 64 << 20));
  std::vector<MountEntry> entries;
  for (const auto& line : split(text, '\n')) {
    auto fields = split(line, ' ');
    auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    entries.push_back({unescape(fields[3]), unescape(fields[4]), fields[5], dash[1], unescape(dash[2]), dash[3]});
  }
  return entries;
}

}  // namespace harena
