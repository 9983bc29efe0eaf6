#include "sdk/support/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

namespace harena {
namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Status write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno_error(errno, "write " + path);
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

struct DirClose {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

/// The enemy may have used the names that we choose: then the next number.
Status move_up(int folder, const std::string& name, int top, std::uint64_t& serial) {
  while (::renameat2(folder, name.c_str(), top, (".r" + std::to_string(serial++)).c_str(), RENAME_NOREPLACE) != 0) {
    if (errno != EEXIST) return errno_error(errno, "move a directory up");
  }
  return {};
}

/// Moves or unlinks every entry of top/victim, so that victim can be removed. `serial` names what is moved up.
Status empty_directory(int top, const std::string& victim, std::uint64_t& serial) {
  HARENA_TRY(UniqueFd fd, open_directory(top, victim));
  HARENA_TRY(auto names, list_directory(fd.get(), "."));
  for (const auto& name : names) {
    if (::unlinkat(fd.get(), name.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) return errno_error(errno, "unlink an entry of " + victim);
    if (::unlinkat(fd.get(), name.c_str(), AT_REMOVEDIR) == 0) continue;
    HARENA_TRY_STATUS(move_up(fd.get(), name, top, serial));
  }
  return {};
}

Status remove_flat(int top) {
  std::uint64_t serial = 0;
  while (true) {
    HARENA_TRY(auto names, list_directory(top, "."));
    if (names.empty()) return {};
    for (const auto& name : names) {
      if (::unlinkat(top, name.c_str(), 0) == 0) continue;
      if (::unlinkat(top, name.c_str(), AT_REMOVEDIR) == 0) continue;
      HARENA_TRY_STATUS(empty_directory(top, name, serial));
      if (::unlinkat(top, name.c_str(), AT_REMOVEDIR) != 0) return errno_error(errno, "rmdir " + name);
    }
  }
}

}  // namespace

Result<UniqueFd> open_directory(int at, const std::string& path) {
  UniqueFd fd(::openat(at, path.c_str(), kDirectoryFlags));
  if (!fd) return errno_error(errno, "open directory " + path);
  return fd;
}

Result<UniqueFd> ensure_directory(int at, const std::string& path, unsigned mode) {
  if (::mkdirat(at, path.c_str(), mode) != 0 && errno != EEXIST) return errno_error(errno, "mkdir " + path);
  return open_directory(at, path);
}

Result<std::string> read_file_at(int at, const std::string& path, std::size_t max_bytes) {
  UniqueFd fd(::openat(at, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "open " + path);
  std::string text;
  char block[4096];
  while (true) {
    const ssize_t got = ::read(fd.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, "read " + path);
    if (got == 0) return text;
    text.append(block, static_cast<std::size_t>(got));
    if (text.size() > max_bytes) {
      return make_error(ErrorCode::out_of_range, path + " is longer than " + std::to_string(max_bytes) + " bytes");
    }
  }
}

Status write_file_at(int at, const std::string& path, std::string_view text) {
  UniqueFd fd(::openat(at, path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "open " + path + " for writing");
  if (::write(fd.get(), text.data(), text.size()) < 0) {
    return errno_error(errno, "write '" + std::string(text) + "' to " + path);
  }
  return {};
}

Status create_file_at(int at, const std::string& path, std::string_view text, unsigned mode) {
  UniqueFd fd(::openat(at, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd) return errno_error(errno, "create " + path);
  return write_all(fd.get(), text, path);
}

Result<std::vector<std::string>> list_directory(int at, const std::string& path) {
  HARENA_TRY(UniqueFd fd, open_directory(at, path));
  std::unique_ptr<DIR, DirClose> dir(::fdopendir(fd.get()));
  if (!dir) return errno_error(errno, "read directory " + path);
  (void)fd.release();  // the DIR owns it now
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status remove_tree_at(int at, const std::string& name) {
  if (::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  if (errno == ENOTDIR) {
    if (::unlinkat(at, name.c_str(), 0) == 0 || errno == ENOENT) return {};
    return errno_error(errno, "unlink " + name);
  }
  HARENA_TRY(UniqueFd top, open_directory(at, name));
  if (auto status = remove_flat(top.get()); !status.ok()) {
    return std::move(status).error().during("removing " + name);
  }
  if (::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return errno_error(errno, "rmdir " + name);
}

}  // namespace harena
