#include "plugins/container/entry_attributes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "sdk/support/id_range.hpp"

namespace harena::container {
namespace {

/// A path that leads to the entry itself from anywhere: xattr calls on links take no descriptor.
std::string path_of(int folder, const std::string& name) { return "/proc/self/fd/" + std::to_string(folder) + "/" + name; }

Result<std::set<std::string>> attribute_names(const std::string& path) {
  std::string names;
  while (true) {
    const ssize_t size = ::llistxattr(path.c_str(), nullptr, 0);
    if (size < 0 && (errno == EOPNOTSUPP || errno == EPERM)) return std::set<std::string>();
    if (size < 0) return errno_error(errno, "list the attributes of an entry");
    names.resize(static_cast<std::size_t>(size));
    const ssize_t got = ::llistxattr(path.c_str(), names.data(), names.size());
    if (got < 0 && errno == ERANGE) continue;
    if (got < 0) return errno_error(errno, "list the attributes of an entry");
    names.resize(static_cast<std::size_t>(got));
    break;
  }
  std::set<std::string> result;
  for (std::size_t at = 0; at < names.size(); at += std::strlen(names.c_str() + at) + 1) result.insert(names.c_str() + at);
  return result;
}

/// overlayfs's own notes on an upper (where a file was copied up from, ...) mean nothing in a layer.
bool is_note(const std::string& name) { return name.starts_with("trusted.overlay.") && name != kOpaque; }

Result<std::string> attribute(const std::string& path, const std::string& name) {
  std::string value(64 << 10, '\0');  // XATTR_SIZE_MAX
  const ssize_t got = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
  if (got < 0) return errno_error(errno, "read the attribute " + name);
  value.resize(static_cast<std::size_t>(got));
  return value;
}

void shift_id_at(std::string& value, std::size_t at, const IdShift& shift) {
  if (at + sizeof(std::uint32_t) > value.size()) return;
  std::uint32_t id = 0;
  std::memcpy(&id, value.data() + at, sizeof id);
  id = shift.of(id);
  std::memcpy(value.data() + at, &id, sizeof id);
}

/// struct vfs_ns_cap_data: magic, four words, and in revision 3 the root id that the capabilities are for.
constexpr std::size_t kCapabilityRootAt = 20;
/// struct posix_acl_xattr_header, then entries of tag, permissions, id.
constexpr std::size_t kAclHeader = 4, kAclEntry = 8, kAclIdAt = 4;

void shift_ids(const std::string& name, std::string& value, const IdShift& shift) {
  if (name == "security.capability") shift_id_at(value, kCapabilityRootAt, shift);
  if (!name.starts_with("system.posix_acl_")) return;
  for (std::size_t at = kAclHeader; at + kAclEntry <= value.size(); at += kAclEntry) shift_id_at(value, at + kAclIdAt, shift);
}

Status copy_xattrs(const std::string& from, const std::string& to, const IdShift& shift) {
  HARENA_TRY(const auto wanted, attribute_names(from));
  HARENA_TRY(const auto there, attribute_names(to));
  for (const auto& name : there) {
    if (name != kOpaque && wanted.count(name) == 0) ::lremovexattr(to.c_str(), name.c_str());
  }
  for (const auto& name : wanted) {
    if (is_note(name)) continue;
    HARENA_TRY(auto value, attribute(from, name));
    if (!shift.none()) shift_ids(name, value, shift);
    if (::lsetxattr(to.c_str(), name.c_str(), value.data(), value.size(), 0) != 0) return errno_error(errno, "set the attribute " + name);
  }
  return {};
}

}  // namespace

std::uint32_t IdShift::of(std::uint32_t id) const {
  return none() || id < from || id - from >= kIdsPerRange ? id : to + (id - from);
}

bool is_opaque(int folder) {
  char value = 0;
  return ::fgetxattr(folder, kOpaque, &value, 1) == 1 && value == 'y';
}

Status set_opaque(int folder) {
  if (::fsetxattr(folder, kOpaque, "y", 1, 0) != 0) return errno_error(errno, "mark a folder as opaque");
  return {};
}

Status copy_attributes(int from_folder, int to_folder, const std::string& name, const IdShift& shift) {
  struct stat info{};
  if (::fstatat(from_folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return errno_error(errno, "stat an entry of a layer");
  // In this order: a change of owner takes set-id bits and capabilities away, and every change moves a time.
  if (::fchownat(to_folder, name.c_str(), shift.of(info.st_uid), shift.of(info.st_gid), AT_SYMLINK_NOFOLLOW) != 0) {
    return errno_error(errno, "chown an entry of a layer");
  }
  if (!S_ISLNK(info.st_mode) && ::fchmodat(to_folder, name.c_str(), info.st_mode & 07777, 0) != 0) {
    return errno_error(errno, "chmod an entry of a layer");
  }
  HARENA_TRY_STATUS(copy_xattrs(path_of(from_folder, name), path_of(to_folder, name), shift));
  const timespec times[2] = {info.st_atim, info.st_mtim};
  if (::utimensat(to_folder, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) return errno_error(errno, "set the times of an entry");
  return {};
}

}  // namespace harena::container
