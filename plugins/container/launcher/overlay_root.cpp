#include "plugins/container/launcher/overlay_root.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "plugins/container/launcher/disk_mount.hpp"
#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/id_map_namespace.hpp"
#include "sdk/support/id_range.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena::container {
namespace {

Status attach_at(int mount, int folder, const std::string& name) {
  HARENA_TRY(UniqueFd spot, ensure_directory(folder, name, 0700));
  return attach_mount(mount, spot.get(), "");
}

/// "FIRST_ID=PATH" as a mount in which the owners are those of the range `first_id`.
Result<UniqueFd> frozen_layer(const std::string& entry, std::uint32_t first_id) {
  const std::size_t equals = entry.find('=');
  HARENA_TRY(auto own, parse_int(std::string_view(entry).substr(0, equals), 1, UINT32_MAX, "first id of a layer"));
  HARENA_TRY(UniqueFd layer, clone_mount(AT_FDCWD, entry.substr(equals + 1)));
  if (own == first_id) return layer;
  HARENA_TRY(UniqueFd ids, id_map_namespace({{static_cast<std::uint32_t>(own), first_id, kIdsPerRange}}));
  HARENA_TRY_STATUS(idmap_mount(layer.get(), ids.get()));
  return layer;
}

Status make_disk_folders(int disk, const SandboxRequest& request) {
  for (const auto& name : {request.upper, request.work}) {
    HARENA_TRY(UniqueFd folder, ensure_directory(disk, name, 0755));
    if (::fchown(folder.get(), request.first_id, request.first_id) != 0) return errno_error(errno, "chown the upper folder");
  }
  return {};
}

/// overlayfs wants the topmost layer first.
std::string lower_option(std::size_t count) {
  std::string option;
  for (std::size_t i = count; i-- > 0;) option += (option.empty() ? "" : ":") + std::to_string(i);
  return option;
}

Result<UniqueFd> overlay_here(const SandboxRequest& request) {
  MountOptions options = {{"source", "overlay"}, {"lowerdir", lower_option(request.layers.size() + request.frozen.size())},
                          {"upperdir", "s/" + request.upper}, {"workdir", "s/" + request.work},
                          {"index", "off"},      {"metacopy", "off"},
                          // A frozen upper must mean the same wherever it lies: no folder in it points to another one.
                          {"redirect_dir", "nofollow"},
                          {"volatile", ""}};
  const unsigned attributes = kMountNoDev | (request.readonly_rootfs ? kMountReadOnly : 0u);
  return new_filesystem("overlay", options, attributes);
}

}  // namespace

Result<UniqueFd> open_layer(const std::string& path, int user_namespace) {
  HARENA_TRY(UniqueFd layer, clone_mount(AT_FDCWD, path));
  HARENA_TRY_STATUS(idmap_mount(layer.get(), user_namespace));
  return layer;
}

Result<UniqueFd> open_writable(const SandboxRequest& request, int disk_image) {
  if (!request.disk) return clone_mount(AT_FDCWD, request.state_dir);
  auto disk = mount_of_disk_or_image(disk_image);
  if (!disk.ok()) {
    return infrastructure_error(ErrorCode::unavailable, "disk", "the sandbox's disk can't be mounted: " + disk.error().message);
  }
  HARENA_TRY_STATUS(make_disk_folders(disk->get(), request));
  return disk;
}

Result<RootParts> open_root_parts(const SandboxRequest& request, const std::vector<std::string>& layer_paths, int disk_image,
                                 int user_namespace) {
  RootParts parts;
  for (const auto& path : layer_paths) {
    HARENA_TRY(parts.layers.emplace_back(), open_layer(path, user_namespace));
  }
  for (const auto& entry : request.frozen) {
    HARENA_TRY(parts.layers.emplace_back(), frozen_layer(entry, request.first_id));
  }
  HARENA_TRY(parts.writable, open_writable(request, disk_image));
  return parts;
}

Result<UniqueFd> mount_overlay_root(const SandboxRequest& request, const RootParts& parts, int folder) {
  for (std::size_t i = 0; i < parts.layers.size(); ++i) {
    HARENA_TRY_STATUS(attach_at(parts.layers[i].get(), folder, std::to_string(i)));
  }
  HARENA_TRY_STATUS(attach_at(parts.writable.get(), folder, "s"));
  if (::fchdir(folder) != 0) return errno_error(errno, "fchdir");
  return overlay_here(request);
}

void clear_overlay_folder(const std::string& folder) {
  auto names = list_directory(AT_FDCWD, folder);
  if (!names.ok()) return;
  for (const auto& name : *names) {
    const std::string path = folder + "/" + name;
    ::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
    // Only rmdir: if it is still a mount, nothing of the layer or of the sandbox's state may be touched.
    ::rmdir(path.c_str());
  }
  ::rmdir(folder.c_str());
}

}  // namespace harena::container
