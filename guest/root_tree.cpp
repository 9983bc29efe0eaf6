#include "guest/root_tree.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "guest/disks.hpp"
#include "guest/identity.hpp"
#include "guest/writable_disk.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/id_range.hpp"
#include "sdk/support/masked_paths.hpp"
#include "sdk/support/mount_api.hpp"
#include "sdk/support/sandbox_root.hpp"

namespace harena::guest {
namespace {

using session::ConfigureRequest;

constexpr const char* kBuildFolder = "/run/build";

// What would name the platform's channel and disks, beside what no sandbox sees.
constexpr const char* kChannelFolders[] = {"sys/bus/virtio", "sys/class/virtio-ports", "sys/devices/LNXSYSTM:00", "sys/devices/platform",
                                           "sys/devices/pci0000:00"};

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

Status attach_tools(int dev) {
  HARENA_TRY(UniqueFd tools, clone_mount(AT_FDCWD, kToolsFolder));
  HARENA_TRY_STATUS(restrict_mount(tools.get(), kMountReadOnly | kMountNoSuid | kMountNoDev));
  HARENA_TRY(UniqueFd spot, ensure_directory(dev, std::string(kToolsPath).substr(sizeof "/dev/" - 1), 0755));
  return attach_mount(tools.get(), spot.get(), "");
}

Result<UniqueFd> mount_dev(const ConfigureRequest& request, int root) {
  HARENA_TRY(UniqueFd dev, make_dev(kDefaultIdBase));
  HARENA_TRY_STATUS(mount_in_root(dev.get(), root, "dev", kDefaultIdBase));
  HARENA_TRY_STATUS(mount_into_dev(dev.get(), kDefaultIdBase, "50%"));
  if (request.tools) HARENA_TRY_STATUS(attach_tools(dev.get()));
  return dev;
}

Status mask(int root, int dev) {
  HARENA_TRY_STATUS(mask_files(root, dev, kMaskedFiles));
  HARENA_TRY_STATUS(mask_folders(root, kDefaultIdBase, kMaskedFolders));
  HARENA_TRY_STATUS(mask_folders(root, kDefaultIdBase, kChannelFolders));
  return make_read_only(root, kReadOnlyFolders);
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
  HARENA_TRY_STATUS(mount_in_root(proc.get(), root, "proc", kDefaultIdBase));
  HARENA_TRY_STATUS(mount_in_root(sys.get(), root, "sys", kDefaultIdBase));
  HARENA_TRY(UniqueFd dev, mount_dev(request, root));
  HARENA_TRY_STATUS(mask(root, dev.get()));
  if (!request.readonly_root) HARENA_TRY_STATUS(write_names(root, request.identity));
  return become_root_folder(root);
}

}  // namespace harena::guest
