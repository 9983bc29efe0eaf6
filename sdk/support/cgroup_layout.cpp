#include "sdk/support/cgroup_layout.hpp"

#include <fcntl.h>

#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"

namespace harena {
namespace {

const std::set<std::string> kUsedV1 = {"cpu", "cpuacct", "memory", "pids", "cpuset", "blkio"};

std::string v2_mount_point(const std::vector<MountEntry>& mounts) {
  for (const auto& mount : mounts) {
    if (mount.type == "cgroup2") return mount.mount_point;
  }
  return {};
}

std::set<std::string> words(const std::string& text) {
  std::set<std::string> found;
  std::string word;
  for (char c : text + " ") {
    if (c != ' ' && c != '\n') {
      word += c;
    } else if (!word.empty()) {
      found.insert(std::exchange(word, {}));
    }
  }
  return found;
}

}  // namespace

Result<CgroupLayout> cgroup_layout_from(const std::vector<MountEntry>& mounts, const std::string& v2_controllers) {
  CgroupLayout layout;
  layout.v2_root = v2_mount_point(mounts);
  if (layout.v2_root.empty()) {
    return make_error(ErrorCode::failed_precondition,
                      "this host has no cgroup v2 tree; mount one: mount -t cgroup2 none /sys/fs/cgroup/unified");
  }
  layout.v2_controllers = words(v2_controllers);
  for (const auto& mount : mounts) {
    if (mount.type != "cgroup") continue;
    for (const auto& option : split(mount.super_options, ',')) {
      if (kUsedV1.count(option) != 0) layout.v1_roots.emplace(option, mount.mount_point);
    }
  }
  // A controller sits in one hierarchy only: whatever v1 has, v2 hasn't.
  layout.mode = layout.v1_roots.empty() ? CgroupLayout::Mode::unified : CgroupLayout::Mode::hybrid;
  return layout;
}

Result<CgroupLayout> detect_cgroups() {
  HARENA_TRY(auto mounts, mount_table());
  const std::string v2 = v2_mount_point(mounts);
  std::string controllers;
  if (!v2.empty()) {
    HARENA_TRY(controllers, read_file_at(AT_FDCWD, v2 + "/cgroup.controllers"));
  }
  return cgroup_layout_from(mounts, controllers);
}

}  // namespace harena
