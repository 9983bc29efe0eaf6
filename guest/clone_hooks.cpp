#include "guest/clone_hooks.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "sdk/base/unique_fd.hpp"
#include "sdk/session/tunnel/clone_hooks.hpp"

namespace harena::guest {
namespace {

/// Entries that are looked at: a folder with a million of them costs no more time.
constexpr int kMostEntries = 1024;

bool is_program(int folder, const char* name) {
  struct stat status{};
  return ::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0111) != 0;
}

}  // namespace

std::vector<std::string> find_clone_hooks(int root) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  UniqueFd folder(static_cast<int>(::syscall(SYS_openat2, root, session::kCloneHookFolder, &how, sizeof how)));
  if (!folder) return {};
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(folder.release()), ::closedir);
  std::vector<std::string> found;
  for (int i = 0; entries && i < kMostEntries; ++i) {
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) break;
    if (session::is_clone_hook(entry->d_name) && is_program(::dirfd(entries.get()), entry->d_name)) found.emplace_back(entry->d_name);
  }
  std::sort(found.begin(), found.end());
  found.resize(std::min(found.size(), session::kMostCloneHooks));
  return found;
}

}  // namespace harena::guest
