#include "core/image/layer_attributes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace harena::image {
namespace {

constexpr const char* kOpaque = "trusted.overlay.opaque";

Status set_xattr(int folder, const std::string& name, const std::string& key, std::string_view value) {
  // There is no lsetxattr relative to a descriptor before 6.13; the last component of this path isn't followed.
  const auto path = "/proc/self/fd/" + std::to_string(folder) + "/" + name;
  if (::lsetxattr(path.c_str(), key.c_str(), value.data(), value.size(), 0) == 0) return ok_status();
  if (errno == ENOTSUP) {
    return infrastructure_error(ErrorCode::failed_precondition, "image-work",
                                "the file system of the import's work folder can't hold the xattr " + key +
                                    "; put the work folder on ext4, XFS or Btrfs");
  }
  return errno_error(errno, "setting the xattr " + key);
}

}  // namespace

bool is_kept_xattr(std::string_view name, std::string_view value) {
  if (name == kOpaque) return value == "y";
  return name.starts_with("user.") || name == "security.capability" || name == "system.posix_acl_access" ||
         name == "system.posix_acl_default";
}

Status set_attributes(int folder, const std::string& name, const FileEntry& entry, std::int64_t& xattrs_left_out) {
  // The owner first: a change of owner clears the set-id bits and the file's capabilities.
  if (::fchownat(folder, name.c_str(), entry.uid, entry.gid, AT_SYMLINK_NOFOLLOW) != 0) return errno_error(errno, "chown");
  const bool has_mode = entry.type != EntryType::symlink;
  if (has_mode && ::fchmodat(folder, name.c_str(), entry.mode, 0) != 0) return errno_error(errno, "chmod");
  for (const auto& [key, value] : entry.xattrs) {
    if (!is_kept_xattr(key, value)) {
      ++xattrs_left_out;
      continue;
    }
    HARENA_TRY_STATUS(set_xattr(folder, name, key, value));
  }
  const timespec modified{std::max<std::int64_t>(0, entry.mtime_s), entry.mtime_s < 0 ? 0 : static_cast<long>(entry.mtime_ns)};
  const timespec times[2] = {modified, modified};
  if (::utimensat(folder, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) return errno_error(errno, "setting the times");
  return ok_status();
}

Status set_opaque(int folder, const std::string& name) { return set_xattr(folder, name, kOpaque, "y"); }

}  // namespace harena::image
