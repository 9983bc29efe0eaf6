#include "plugins/container/launcher/layer_mounts.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "sdk/support/files.hpp"
#include "sdk/support/loop_device.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena::container {
namespace {
constexpr unsigned kAttributes = kMountReadOnly | kMountNoDev;
}

Result<UniqueFd> LayerMounts::mount_image(int image_fd) const {
  std::string refusal;
  if (method_ == Method::automatic) {
    const std::string file = "/proc/self/fd/" + std::to_string(image_fd);
    auto direct = new_filesystem("erofs", {{"source", file}, {"ro", ""}}, kAttributes);
    if (direct.ok()) return direct;
    refusal = " (and not from the file: " + direct.error().message + ")";
  }
  HARENA_TRY(LoopDevice loop, attach_loop_device(image_fd, LoopAccess::read_only));
  auto mounted = new_filesystem("erofs", {{"source", loop.path}, {"ro", ""}}, kAttributes);
  if (!mounted.ok()) mounted.error().message += refusal;
  return mounted;
}

Status LayerMounts::add(const std::string& digest, int image_fd) {
  if (paths_.count(digest) != 0) return {};
  auto mount = mount_image(image_fd);
  if (!mount.ok()) return std::move(mount).error().during("mounting layer " + digest);
  const std::string path = work_ + "/layers/" + std::to_string(serial_++);
  HARENA_TRY(UniqueFd spot, ensure_directory(AT_FDCWD, path, 0700));
  HARENA_TRY_STATUS(attach_mount(mount->get(), spot.get(), ""));
  paths_[digest] = path;
  return {};
}

Result<std::string> LayerMounts::path_of(const std::string& digest) const {
  auto found = paths_.find(digest);
  if (found != paths_.end()) return found->second;
  return make_error(ErrorCode::not_found, "layer " + digest + " isn't mounted");
}

Status LayerMounts::drop(const std::string& digest) {
  auto found = paths_.find(digest);
  if (found == paths_.end()) return {};
  HARENA_TRY_STATUS(detach_mount(found->second));
  ::rmdir(found->second.c_str());
  paths_.erase(found);
  return {};
}

}  // namespace harena::container
