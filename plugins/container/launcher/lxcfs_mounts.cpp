#include "plugins/container/launcher/lxcfs_mounts.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "sdk/support/mount_api.hpp"

namespace harena::container {
namespace {
constexpr unsigned kAttributes = kMountReadOnly | kMountNoSuid | kMountNoDev | kMountNoExec;
}

Status mount_lxcfs(const BlankRequest& request, int root) {
  for (const auto& name : request.lxcfs) {
    if (::faccessat(root, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) continue;
    auto file = clone_mount(AT_FDCWD, std::string(kLxcfsFolder) + "/" + name);
    if (!file.ok()) continue;
    HARENA_TRY_STATUS(restrict_mount(file->get(), kAttributes));
    HARENA_TRY_STATUS(attach_mount(file->get(), root, name));
  }
  return {};
}

}  // namespace harena::container
