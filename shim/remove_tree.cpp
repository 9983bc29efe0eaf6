#include "shim/remove_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace harena::shim {
namespace {

constexpr std::size_t kMaxNames = 1'000'000;
/// Folders inside each other: each costs a descriptor and a stack frame. Beyond, the deepest are first moved up.
constexpr int kMaxDepth = 400;

Status remove_children(int folder, const std::string& shown, int depth);

Status remove_name(int folder, const std::string& name, const std::string& shown, int depth) {
  if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return errno_error(errno, "removing '" + shown + "'");
  if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  if (errno != ENOTEMPTY) return errno_error(errno, "removing '" + shown + "'");
  if (depth > kMaxDepth) return make_error(ErrorCode::out_of_range, "'" + shown.substr(0, 200) + "...' has over 400 folders inside each other");
  UniqueFd inside(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inside) return errno_error(errno, "removing '" + shown + "'");
  HARENA_TRY_STATUS(remove_children(inside.get(), shown, depth + 1));
  if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) return errno_error(errno, "removing '" + shown + "'");
  return {};
}

Status remove_children(int folder, const std::string& shown, int depth) {
  HARENA_TRY(auto names, folder_names(folder, shown));
  for (const auto& name : names) HARENA_TRY_STATUS(remove_name(folder, name, shown + "/" + name, depth));
  return {};
}

}  // namespace

Result<std::vector<std::string>> folder_names(int folder, const std::string& shown) {
  UniqueFd list(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!list) return errno_error(errno, "listing '" + shown + "'");
  std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(list.release()), &::closedir);
  std::vector<std::string> names;
  while (auto* entry = dir ? ::readdir(dir.get()) : nullptr) {
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMaxNames) return make_error(ErrorCode::resource_exhausted, "'" + shown + "' has over a million entries");
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status remove_tree(const Place& where, const std::string& shown, bool recursive) {
  struct stat info{};
  if (::fstatat(where.folder.get(), where.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return errno_error(errno, "'" + shown + "'");
  if (recursive) return remove_name(where.folder.get(), where.name, shown, 0);
  int flags = S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0;
  if (::unlinkat(where.folder.get(), where.name.c_str(), flags) == 0) return {};
  if (errno == ENOTEMPTY) return make_error(ErrorCode::failed_precondition, "folder '" + shown + "' isn't empty; recursive=true removes what is in it");
  return errno_error(errno, "removing '" + shown + "'");
}

}  // namespace harena::shim
