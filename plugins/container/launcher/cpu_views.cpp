#include "plugins/container/launcher/cpu_views.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "sdk/base/text.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena::container {
namespace {

struct View {
  const char* name;
  const char* path;  // below the sandbox's root
};
constexpr View kCpuinfo = {"cpuinfo", "proc/cpuinfo"};
constexpr View kLists[] = {{"online", "sys/devices/system/cpu/online"}, {"possible", "sys/devices/system/cpu/possible"}};

Status overwrite(int file, const std::string& text) {
  // At once: whoever reads meanwhile sees the old or the new, unless it is in the middle.
  if (::pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return errno_error(errno, "write a view of CPUs");
  if (::ftruncate(file, static_cast<off_t>(text.size())) != 0) return errno_error(errno, "size a view of CPUs");
  return {};
}

Result<UniqueFd> make_view(int folder, const View& view, const std::string& text) {
  HARENA_TRY_STATUS(create_file_at(folder, view.name, text, 0444));
  // Whatever the umask is.
  if (::fchmodat(folder, view.name, 0444, 0) != 0) return errno_error(errno, "chmod a view of CPUs");
  return clone_mount(folder, view.name);
}

Status show_view(const UniqueFd& file, int root, const View& view) {
  if (::faccessat(root, view.path, F_OK, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return attach_mount(file.get(), root, view.path);
}

/// Only a file that mount_cpu_views made: in a tmpfs, and of root outside.
Status rewrite(int root, const View& view, const std::string& text) {
  UniqueFd file(::openat(root, view.path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) return errno == ENOENT || errno == EROFS || errno == EACCES ? Status() : Status(errno_error(errno, std::string("open a sandbox's /") + view.path));
  struct stat info{};
  struct statfs system{};
  if (::fstat(file.get(), &info) != 0 || ::fstatfs(file.get(), &system) != 0) return errno_error(errno, std::string("look at a sandbox's /") + view.path);
  if (!S_ISREG(info.st_mode) || info.st_uid != 0 || system.f_type != TMPFS_MAGIC) return {};
  return overwrite(file.get(), text);
}

}  // namespace

std::string cpu_list_for(int count) { return count <= 1 ? "0\n" : "0-" + std::to_string(count - 1) + "\n"; }

std::string cpuinfo_for(const std::string& cpuinfo, int count) {
  std::string text;
  int number = 0;
  for (std::size_t at = 0; at < cpuinfo.size() && number < count; ++number) {
    std::size_t end = cpuinfo.find("\n\n", at);
    end = end == std::string::npos ? cpuinfo.size() : end + 2;
    std::string block = cpuinfo.substr(at, end - at);
    at = end;
    const std::size_t colon = block.find(':');
    const std::size_t line_end = block.find('\n');
    // What comes behind the processors (some architectures tell of the machine there) is nobody's.
    if (!block.starts_with("processor") || colon == std::string::npos || colon > line_end) break;
    text += block.replace(colon + 1, line_end - colon - 1, " " + std::to_string(number));
  }
  return text;
}

Result<std::string> mount_cpu_views(int count) {
  constexpr unsigned kAttributes = kMountNoSuid | kMountNoDev | kMountNoExec;
  HARENA_TRY(const UniqueFd opened, open_directory(AT_FDCWD, "/"));
  const int root = opened.get();
  HARENA_TRY(std::string machine, read_file_at(root, kCpuinfo.path));
  HARENA_TRY(UniqueFd folder, new_filesystem("tmpfs", {{"mode", "0755"}, {"size", "8m"}, {"nr_inodes", "8"}}, kAttributes));
  // Linux before 6.15 clones attached mounts alone. Over /dev, where nobody looks for anything meanwhile.
  HARENA_TRY_STATUS(attach_mount(folder.get(), root, "dev"));
  HARENA_TRY(const UniqueFd cpuinfo, make_view(folder.get(), kCpuinfo, cpuinfo_for(machine, count)));
  std::vector<UniqueFd> lists;
  for (const auto& view : kLists) {
    HARENA_TRY(UniqueFd list, make_view(folder.get(), view, cpu_list_for(count)));
    lists.push_back(std::move(list));
  }
  HARENA_TRY_STATUS(detach_mount("/dev"));
  HARENA_TRY_STATUS(show_view(cpuinfo, root, kCpuinfo));
  for (std::size_t i = 0; i < lists.size(); ++i) HARENA_TRY_STATUS(show_view(lists[i], root, kLists[i]));
  return machine;
}

Status change_cpu_views(int root, const std::string& machine, int count) {
  HARENA_TRY_STATUS(rewrite(root, kCpuinfo, cpuinfo_for(machine, count)));
  for (const auto& view : kLists) HARENA_TRY_STATUS(rewrite(root, view, cpu_list_for(count)));
  return {};
}

Status rewrite_cpu_views(pid_t init, int count) {
  // The machine's, not the sandbox's: that has fewer.
  HARENA_TRY(const std::string machine, read_file_at(AT_FDCWD, "/proc/cpuinfo"));
  UniqueFd root(::open(("/proc/" + std::to_string(init) + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return errno == ENOENT ? Status() : Status(errno_error(errno, "open the root of process " + std::to_string(init)));
  return change_cpu_views(root.get(), machine, count);
}

}  // namespace harena::container
