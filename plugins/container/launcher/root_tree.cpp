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
struct Names {
  std::string hostname, hosts;
  static Names of(const std::string& name) { return {name + "\n", hosts_text(name)}; }
};

Status make_names(int root, const Names& names, std::uint32_t first_id) {
  HARENA_TRY(UniqueFd etc_path, folder_in_root(root, "etc", first_id));
  HARENA_TRY(UniqueFd etc, open_in_root(root, "etc", O_RDONLY | O_DIRECTORY));
  HARENA_TRY_STATUS(write_etc(etc.get(), "hostname", names.hostname, first_id));
  HARENA_TRY_STATUS(write_etc(etc.get(), "hosts", names.hosts, first_id));
  return write_etc(etc.get(), "resolv.conf", "# no network\n", first_id);
}

Status write_names(int root, const SandboxRequest& request) {
  if (request.readonly_rootfs) return {};
  const Names names = Names::of(request.hostname);
  if (!request.staged) return make_names(root, names, request.first_id);
  HARENA_TRY(UniqueFd etc, open_in_root(root, "etc", O_RDONLY | O_DIRECTORY));
  HARENA_TRY_STATUS(fill_etc(etc.get(), "hostname", names.hostname));
  return fill_etc(etc.get(), "hosts", names.hosts);
}

/// Attached ones move, with all that is mounted on them.
Status lay_root(int root, const BlankTree& tree, std::uint32_t first_id, const std::string& spot) {
  HARENA_TRY_STATUS(attach_mount(root, AT_FDCWD, spot));
  const std::pair<int, const char*> parts[] = {{tree.proc.get(), "proc"}, {tree.sys.get(), "sys"}, {tree.dev.get(), "dev"}};
  for (const auto& [mount, path] : parts) HARENA_TRY_STATUS(mount_in_root(mount, root, path, first_id));
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
  HARENA_TRY_STATUS(mask_files(root.get(), tree.dev.get(), kMaskedFiles));
  HARENA_TRY_STATUS(mask_folders(root.get(), blank.first_id, kMaskedFolders));
  HARENA_TRY_STATUS(make_read_only(root.get(), kReadOnlyFolders));
  HARENA_TRY_STATUS(mount_lxcfs(blank, root.get()));
  if (blank.cpus > 0) {
    HARENA_TRY(tree.machine_cpuinfo, mount_cpu_views(blank.cpus));
  }
  HARENA_TRY(tree.scratch, new_filesystem("tmpfs", {{"mode", "0700"}, {"size", "64k"}}, kNoAccess));
  HARENA_TRY_STATUS(attach_mount(tree.scratch.get(), AT_FDCWD, spot));
  return tree;
}

Status stage_root(const BlankRequest& blank, const RootParts& parts, BlankTree& tree, const std::string& spot) {
  // Apart from the parts of another, for which it may be left.
  HARENA_TRY(UniqueFd folder, ensure_directory(tree.scratch.get(), "staged", 0700));
  SandboxRequest request;
  request.layers.resize(parts.layers.size());
  HARENA_TRY(tree.staged, mount_overlay_root(request, parts, folder.get()));
  HARENA_TRY_STATUS(lay_root(tree.staged.get(), tree, blank.first_id, spot));
  return make_names(tree.staged.get(), {}, blank.first_id);
}

Status enter_root_tree(const SandboxRequest& request, const BlankRequest& blank, const BlankTree& tree, const RootMounts& mounts,
                       const std::string& spot) {
  const int root = request.staged ? tree.staged.get() : mounts.root.get();
  if (!request.staged) HARENA_TRY_STATUS(lay_root(root, tree, request.first_id, spot));
  if (request.cpus != blank.cpus) HARENA_TRY_STATUS(change_cpu_views(root, tree.machine_cpuinfo, request.cpus));
  HARENA_TRY_STATUS(write_names(root, request));
  HARENA_TRY_STATUS(mount_tmpfs_list(root, request));
  for (std::size_t i = 0; i < mounts.of_host.size(); ++i) {
    HARENA_TRY_STATUS(mount_in_root(mounts.of_host[i].get(), root, request.mount_targets.at(i).substr(1), request.first_id));
  }
  return become_root_folder(root);
}

}  // namespace harena::container
