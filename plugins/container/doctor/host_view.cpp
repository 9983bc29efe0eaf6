#include "plugins/container/doctor/host_view.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {

HostView HostView::of_this_host() {
  HostView view;
  utsname name{};
  ::uname(&name);
  view.kernel_release = name.release;
  view.is_root = ::geteuid() == 0;
  constexpr unsigned kAskVersion = 1;  // LANDLOCK_CREATE_RULESET_VERSION
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  view.landlock_version = version > 0 ? static_cast<int>(version) : 0;
  timex clock{};
  if (::adjtimex(&clock) >= 0) view.clock_synchronised = (clock.status & STA_UNSYNC) == 0;
  struct stat ours{}, first{};
  view.own_mounts = ::stat("/proc/self/ns/mnt", &ours) == 0 && ::stat("/proc/1/ns/mnt", &first) == 0 && ours.st_ino != first.st_ino;
  return view;
}

bool HostView::exists(const std::string& path) const { return ::access((root + path).c_str(), F_OK) == 0; }

std::string HostView::text(const std::string& path, std::size_t max_bytes) const {
  auto content = read_file_at(AT_FDCWD, root + path, max_bytes);
  return content.ok() ? *content : std::string();
}

std::optional<std::int64_t> HostView::number(const std::string& path) const {
  const std::string content = text(path, 4096);
  const auto end = std::find_if_not(content.begin(), content.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  // fs.file-max is 2^63 - 1 or more where there is no limit.
  constexpr std::size_t kMostDigits = 18;
  const auto digits = static_cast<std::size_t>(end - content.begin());
  if (digits == 0) return std::nullopt;
  if (digits > kMostDigits) return INT64_MAX;
  return std::stoll(content.substr(0, digits));
}

std::vector<MountEntry> HostView::mounts() const {
  std::vector<MountEntry> entries;
  for (const auto& line : split(text("/proc/self/mountinfo", 64 << 20), '\n')) {
    const auto fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    entries.push_back({std::string(fields[3]), std::string(fields[4]), std::string(fields[5]), std::string(dash[1]), std::string(dash[2]), std::string(dash[3])});
  }
  return entries;
}

bool HostView::kernel_at_least(int major, int minor) const {
  int have_major = 0, have_minor = 0;
  if (std::sscanf(kernel_release.c_str(), "%d.%d", &have_major, &have_minor) != 2) return false;
  return have_major > major || (have_major == major && have_minor >= minor);
}

bool HostView::has_filesystem(const std::string& name) const {
  if (text("/proc/filesystems").find("\t" + name + "\n") != std::string::npos) return true;
  const std::string modules = "/lib/modules/" + kernel_release;
  return text(modules + "/modules.dep", 16 << 20).find("/" + name + ".ko") != std::string::npos;
}

}  // namespace harena::container
