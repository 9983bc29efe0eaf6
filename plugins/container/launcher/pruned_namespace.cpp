#include "plugins/container/launcher/pruned_namespace.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "sdk/support/files.hpp"
#include "sdk/support/mount_api.hpp"
#include "sdk/support/sandbox_root.hpp"

namespace harena::container {
namespace {

struct Kept {
  std::string path;
  UniqueFd mount;
};

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

Result<std::vector<Kept>> clone_covering(const std::vector<std::string>& roots) {
  HARENA_TRY(auto table, mount_table());
  std::vector<std::string> points;
  for (const auto& entry : table) points.push_back(entry.mount_point);
  std::set<std::string> seen;
  std::vector<Kept> kept;
  for (const auto& root : roots) {
    for (const auto& point : covering_mounts(points, root)) {
      if (!seen.insert(point).second) continue;
      HARENA_TRY(UniqueFd mount, clone_mount(AT_FDCWD, point));
      kept.push_back({point, std::move(mount)});
    }
  }
  return kept;
}

/// The new root goes onto `spot`, becomes "/", and everything that was mounted before is let go.
Status make_root(int root_mount, const std::string& spot) {
  HARENA_TRY_STATUS(attach_mount(root_mount, AT_FDCWD, spot));
  return become_root_folder(root_mount);
}

Status new_mount_namespace() {
  if (::unshare(CLONE_NEWNS) != 0) return errno_error(errno, "unshare the mount namespace");
  // Nothing that is mounted here may appear on the host, nor the other way round.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno_error(errno, "make mounts private");
  return {};
}

}  // namespace

std::vector<std::string> covering_mounts(const std::vector<std::string>& mount_points, const std::string& path) {
  std::vector<std::string> covering;
  for (const auto& point : mount_points) {
    if (point != "/" && is_below(path, point)) covering.push_back(point);
  }
  std::stable_sort(covering.begin(), covering.end(), [](auto& a, auto& b) { return a.size() < b.size(); });
  covering.erase(std::unique(covering.begin(), covering.end()), covering.end());
  return covering;
}

Result<std::string> find_mount_spot(const std::vector<std::string>& roots) {
  for (const std::string spot : {"/mnt", "/media", "/srv", "/tmp"}) {
    struct stat info{};
    if (::stat(spot.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    if (std::none_of(roots.begin(), roots.end(), [&](auto& root) { return is_below(root, spot); })) return spot;
  }
  return make_error(ErrorCode::failed_precondition, "none of /mnt, /media, /srv, /tmp is a folder free to mount on");
}

Result<PrunedNamespace> enter_pruned_namespace(const std::vector<std::string>& roots, const std::string& work) {
  HARENA_TRY_STATUS(new_mount_namespace());
  HARENA_TRY(auto kept, clone_covering(roots));
  HARENA_TRY(UniqueFd root, clone_mount(AT_FDCWD, "/"));
  HARENA_TRY(UniqueFd dev, clone_mount(AT_FDCWD, "/dev"));
  HARENA_TRY_STATUS(make_root(root.get(), work));
  for (auto& [path, mount] : kept) HARENA_TRY_STATUS(attach_mount(mount.get(), AT_FDCWD, path));
  HARENA_TRY_STATUS(attach_mount(dev.get(), AT_FDCWD, "/dev"));
  HARENA_TRY(UniqueFd proc, new_filesystem("proc", {}, kMountNoSuid | kMountNoDev | kMountNoExec));
  HARENA_TRY_STATUS(attach_mount(proc.get(), AT_FDCWD, "/proc"));

  PrunedNamespace result;
  result.seed.reset(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
  if (!result.seed) return errno_error(errno, "open the mount namespace");
  result.work = work;
  HARENA_TRY_STATUS(new_mount_namespace());
  result.own.reset(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
  if (!result.own) return errno_error(errno, "open the launcher's mount namespace");
  HARENA_TRY(UniqueFd tmpfs, new_filesystem("tmpfs", {{"mode", "0700"}, {"size", "16m"}}, kMountNoSuid | kMountNoDev | kMountNoExec));
  HARENA_TRY_STATUS(attach_mount(tmpfs.get(), AT_FDCWD, work));
  for (const char* folder : {"layers", "sandboxes"}) {
    HARENA_TRY(UniqueFd made, ensure_directory(tmpfs.get(), folder, 0700));
  }
  return result;
}

}  // namespace harena::container
