#include "shim/remove_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "sdk/base/random.hpp"

namespace harena::shim {
namespace {

constexpr std::size_t kMaxNames = 1'000'000;
/// Folders inside each other that are held open at once: each costs a descriptor and a stack frame. Deeper ones are first moved up.
constexpr int kMaxDepth = 400;

/// The removal of one folder's content, at any depth.
class Removal {
 public:
  Removal(int top, std::string shown) : top_(top), shown_(std::move(shown)) {}

  Status run() {
    do {
      moved_ = false;
      HARENA_TRY_STATUS(remove_children(top_, 0));
      // What was moved up is there now, with less inside.
    } while (moved_);
    return {};
  }

 private:
  Status failed() const { return file_error(errno, "removing what is in '" + shown_ + "'"); }

  Status remove_children(int folder, int depth) {
    HARENA_TRY(auto names, folder_names(folder, shown_));
    for (const auto& name : names) HARENA_TRY_STATUS(remove_name(folder, name, depth));
    return {};
  }

  Status remove_name(int folder, const std::string& name, int depth) {
    if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR && errno != EPERM) return failed();
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    if (errno != ENOTEMPTY) return failed();
    if (depth == kMaxDepth) return move_up(folder, name);
    UniqueFd inside(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inside) return failed();
    HARENA_TRY_STATUS(remove_children(inside.get(), depth + 1));
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) return failed();
    return {};
  }

  /// Into the folder that is being emptied: a removal that is cut off leaves a part of the tree, under its own root.
  Status move_up(int folder, const std::string& name) {
    SystemRandom random;
    std::string here = ".harena-remove-" + random.base36(16);
    if (::renameat(folder, name.c_str(), top_, here.c_str()) != 0) return failed();
    moved_ = true;
    return {};
  }

  int top_;
  std::string shown_;
  bool moved_ = false;
};

Error remove_error(int number, const std::string& shown) { return file_error(number, "removing '" + shown + "'"); }

}  // namespace

Result<std::vector<std::string>> folder_names(int folder, const std::string& shown) {
  UniqueFd list(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!list) return file_error(errno, "listing '" + shown + "'");
  std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(list.release()), &::closedir);
  if (!dir) return file_error(errno, "listing '" + shown + "'");
  std::vector<std::string> names;
  while (errno = 0, true) {
    auto* entry = ::readdir(dir.get());
    if (entry == nullptr && errno != 0 && errno != ENOENT) return file_error(errno, "listing '" + shown + "'");
    if (entry == nullptr) break;
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
  if (::fstatat(where.folder.get(), where.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return file_error(errno, "'" + shown + "'");
  int flags = S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0;
  if (::unlinkat(where.folder.get(), where.name.c_str(), flags) == 0) return {};
  if (errno != ENOTEMPTY) return remove_error(errno, shown);
  if (!recursive) {
    return make_error(ErrorCode::failed_precondition, "folder '" + shown + "' isn't empty; recursive=true removes what is in it");
  }
  UniqueFd inside(::openat(where.folder.get(), where.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inside) return remove_error(errno, shown);
  HARENA_TRY_STATUS(Removal(inside.get(), shown).run());
  if (::unlinkat(where.folder.get(), where.name.c_str(), AT_REMOVEDIR) == 0) return {};
  return remove_error(errno, shown);
}

}  // namespace harena::shim
