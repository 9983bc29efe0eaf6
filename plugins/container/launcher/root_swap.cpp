#include "plugins/container/launcher/root_swap.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "plugins/container/launcher/overlay_root.hpp"
#include "plugins/container/launcher/root_tree.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/mount_api.hpp"
#include "sdk/support/sandbox_root.hpp"

namespace harena::container {
namespace {

bool is_below(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

/// What is mounted directly on the root: everything else lies on one of these and comes with it.
std::vector<std::string> mounts_on_root(const std::vector<MountEntry>& table) {
  std::vector<std::string> points;
  for (const auto& entry : table) {
    const auto& point = entry.mount_point;
    if (point == "/" || std::find(points.begin(), points.end(), point) != points.end()) continue;
    points.push_back(point);
  }
  std::vector<std::string> outer;
  for (const auto& point : points) {
    if (std::none_of(points.begin(), points.end(), [&](auto& other) { return is_below(point, other); })) outer.push_back(point);
  }
  return outer;
}

Status enter_mounts_of(const UniqueFd& init) {
  if (::setns(init.get(), CLONE_NEWNS) != 0) return errno_error(errno, "enter the sandbox's mount namespace");
  return {};
}

/// The same file systems on the new root: what is in a tmpfs stays.
Status carry_mounts(const std::vector<std::string>& points, int root, const SandboxRequest& request) {
  for (const auto& point : points) {
    HARENA_TRY(UniqueFd tree, clone_mount_tree(AT_FDCWD, point));
    HARENA_TRY(UniqueFd spot, folder_in_root(root, point.substr(1), request.first_id));
    HARENA_TRY_STATUS(attach_mount(tree.get(), spot.get(), ""));
  }
  return {};
}

Status put_in_place(int root) {
  if (::fchdir(root) != 0) return errno_error(errno, "fchdir to the new root");
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return errno_error(errno, "pivot_root");
  fault_point("swap.pivoted");
  if (::umount2(".", MNT_DETACH) != 0) return errno_error(errno, "let go of the old root");
  return {};
}

std::string upper_of(const MountEntry& root) {
  const std::string key = "upperdir=s/";
  const std::size_t at = root.super_options.find(key);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size();
  return root.super_options.substr(begin, root.super_options.find(',', begin) - begin);
}

std::vector<MountEntry> roots_of(const std::vector<MountEntry>& table) {
  std::vector<MountEntry> roots;
  std::copy_if(table.begin(), table.end(), std::back_inserter(roots), [](const MountEntry& entry) { return entry.mount_point == "/"; });
  return roots;
}

/// From here on the caller's mounts are its own and go with it; unmounting the parts of an overlay one by one costs a grace period each.
/// What is returned keeps them until it is closed: at the end, when nobody waits any more.
Result<UniqueFd> leave_launchers_mounts() {
  if (::unshare(CLONE_NEWNS) != 0) return errno_error(errno, "unshare the mount namespace");
  UniqueFd own(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
  if (!own) return errno_error(errno, "open the mount namespace");
  return own;
}

/// The parts stay mounted in the scratch folder.
Result<UniqueFd> new_root(const SwapContext& context, int user_namespace) {
  HARENA_TRY(UniqueFd spot, ensure_directory(AT_FDCWD, context.scratch_folder, 0700));
  HARENA_TRY(auto parts, open_root_parts(context.request, context.layer_paths, context.disk_image, user_namespace));
  return mount_overlay_root(context.request, parts, spot.get());
}

}  // namespace

Status swap_root(const SwapContext& context) {
  HARENA_TRY(UniqueFd init, open_process(context.init));
  const std::string pid = std::to_string(context.init.pid);
  UniqueFd ids(::open(("/proc/" + pid + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!ids) return errno_error(errno, "open the sandbox's user namespace");
  HARENA_TRY(auto table, mount_table(pid));
  HARENA_TRY(UniqueFd before, leave_launchers_mounts());
  HARENA_TRY(UniqueFd root, new_root(context, ids.get()));
  fault_point("swap.mounted");
  HARENA_TRY_STATUS(enter_mounts_of(init));
  HARENA_TRY_STATUS(attach_mount(root.get(), AT_FDCWD, "/"));
  fault_point("swap.attached");
  Status done = carry_mounts(mounts_on_root(table), root.get(), context.request);
  fault_point("swap.carried");
  if (done.ok()) return put_in_place(root.get());
  if (::fchdir(root.get()) == 0) ::umount2(".", MNT_DETACH);
  return done;
}

Result<std::string> settle_root(const ProcessRef& process) {
  HARENA_TRY(UniqueFd init, open_process(process));
  // /proc is the launcher's: it is read before the process leaves for the sandbox.
  HARENA_TRY(auto table, mount_table(std::to_string(process.pid)));
  const auto roots = roots_of(table);
  if (roots.empty()) return make_error(ErrorCode::data_loss, "the sandbox's init has no root in its mount table");
  for (std::size_t i = 1; i < roots.size(); ++i) {
    HARENA_TRY_STATUS(enter_mounts_of(init));  // at the topmost of what lies there
    if (::umount2("/", MNT_DETACH) != 0) return errno_error(errno, "let go of a root that is in nobody's use");
  }
  return upper_of(roots.front());
}

}  // namespace harena::container
