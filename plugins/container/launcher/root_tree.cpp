#include "plugins/container/launcher/root_tree.hpp"

#include <fcntl.h>

#include <utility>

#include "plugins/container/launcher/cpu_views.hpp"
#include "plugins/container/launcher/lxcfs_mounts.hpp"
#include "plugins/container/launcher/tools_mount.hpp"
#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/masked_paths.hpp"
#include "sdk/support/mount_api.hpp"
#include "sdk/support/sandbox_root.hpp"

namespace harena::container {

namespace {

Result<UniqueFd> mount_dev(const BlankRequest& blank) {
  HARENA_TRY(UniqueFd dev, make_dev(blank.first_id));
  HARENA_TRY_STATUS(attach_mount(dev.get(), AT_FDCWD, "/dev"));
  HARENA_TRY_STATUS(mount_into_dev(dev.get(), blank.first_id, std::to_string(blank.shm_bytes)));
  return dev;
}

Status attach_tools(int tools, int dev) {
  constexpr std::string_view kName = std::string_view(kToolsPath).substr(sizeof "/dev/" - 1);
  HARENA_TRY(UniqueFd spot, ensure_directory(dev, std::string(kName), 0755));
  return attach_mount(tools, spot.get(), "");
}

Status mount_tmpfs_list(int root, const SandboxRequest& request) {
  for (const auto& entry : request.tmpfs) {
    const std::size_t equals = entry.rfind('=');
    HARENA_TRY(auto bytes, parse_int(std::string_view(entry).substr(equals + 1), 1, INT64_MAX, "tmpfs size"));
    const std::string path = entry.substr(1, equals - 1);  // without the leading slash
    HARENA_TRY(UniqueFd tmpfs, new_filesystem("tmpfs", tmpfs_options(request.first_id, std::to_string(bytes), path == "run" ? "0755" : "1777"),
                                              kMountNoSuid | kMountNoDev));
    HARENA_TRY_STATUS(mount_in_root(tmpfs.get(), root, path, request.first_id));
  }
  return {};
}

/// Names of this sandbox. Nothing of the machine that built the image stays in them (its resolvers, say).
Status write_names(int root, const SandboxRequest& request) {
  if (request.readonly_rootfs) return {};
  HARENA_TRY(UniqueFd etc_path, folder_in_root(root, "etc", request.first_id));
  HARENA_TRY(UniqueFd etc, open_in_root(root, "etc", O_RDONLY | O_DIRECTORY));
  HARENA_TRY_STATUS(write_etc(etc.get(), "hostname", request.hostname + "\n", request.first_id));
  HARENA_TRY_STATUS(write_etc(etc.get(), "hosts", hosts_text(request.hostname), request.first_id));
  return write_etc(etc.get(), "resolv.conf", "# no network\n", request.first_id);
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
  HARENA_TRY_STATUS(mask_files(root.get(), tree.dev.get(), kMaskedFiles));
  HARENA_TRY_STATUS(mask_folders(root.get(), blank.first_id, kMaskedFolders));
  HARENA_TRY_STATUS(make_read_only(root.get(), kReadOnlyFolders));
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
