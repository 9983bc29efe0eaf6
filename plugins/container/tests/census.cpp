#include "plugins/container/tests/census.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "sdk/support/cgroup_layout.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/mount_api.hpp"
#include "sdk/support/process.hpp"

namespace harena::container::testing {
namespace fs = std::filesystem;
namespace {

void add_group(const fs::path& group, std::set<std::string>& found) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(group, ignored)) {
    if (!entry.is_directory(ignored) || entry.path().filename() == "launcher") continue;
    const bool inner = entry.path().filename() == "platform";
    if (!inner) found.insert(entry.path());
    std::istringstream pids(read_text(entry.path() / "cgroup.procs"));
    for (std::string pid; pids >> pid;) found.insert("process " + pid);
    add_group(entry.path(), found);
  }
}

void add_loops(const std::string& folder, std::set<std::string>& found) {
  const auto names = list_directory(AT_FDCWD, "/sys/block").value();
  for (const auto& name : names) {
    const std::string file = read_text("/sys/block/" + name + "/loop/backing_file");
    if (file.starts_with(folder)) found.insert(name + " of " + file);
  }
}

/// By kind and number, not by descriptor.
void add_descriptors(std::set<std::string>& found) {
  std::map<std::string, int> kinds;
  const auto numbers = list_directory(AT_FDCWD, "/proc/self/fd").value();
  for (const auto& number : numbers) {
    std::error_code gone;
    const std::string target = fs::read_symlink("/proc/self/fd/" + number, gone);
    for (const char* kind : {"anon_inode:[pidfd]", "/sys/fs/cgroup", "net:[", "mnt:[", "user:[", "socket:", "/memfd"}) {
      if (!gone && target.starts_with(kind)) found.insert("descriptor " + std::to_string(++kinds[kind]) + " on " + kind);
    }
  }
}

}  // namespace

std::set<std::string> census(const Backend& backend, bool with_descriptors) {
  std::set<std::string> found;
  auto layout = detect_cgroups().value();
  std::set<std::string> roots = {layout.v2_root};
  for (const auto& [controller, root] : layout.v1_roots) roots.insert(root);
  for (const auto& root : roots) add_group(fs::path(root) / "harena" / backend.instance(), found);
  add_loops(backend.folder(), found);
  std::error_code ignored;
  for (const char* part : {"run", "state"}) {
    for (const auto& entry : fs::directory_iterator(backend.folder() / part, ignored)) found.insert(entry.path());
  }
  const auto mounts = mount_table().value();
  for (const auto& mount : mounts) {
    if (mount.mount_point.starts_with(backend.folder().string() + "/state/")) found.insert("mount " + mount.mount_point);
  }
  if (with_descriptors) add_descriptors(found);
  return found;
}

std::set<std::string> left_over(const Backend& backend, const std::set<std::string>& before, bool with_descriptors) {
  constexpr std::int64_t kPatienceNs = 20'000'000'000;
  const std::int64_t deadline = monotonic_now_ns() + kPatienceNs;
  std::set<std::string> left;
  do {
    left.clear();
    const auto now = census(backend, with_descriptors);
    std::set_difference(now.begin(), now.end(), before.begin(), before.end(), std::inserter(left, left.end()));
    if (!left.empty()) ::usleep(10'000);
  } while (!left.empty() && monotonic_now_ns() < deadline);
  return left;
}

}  // namespace harena::container::testing
