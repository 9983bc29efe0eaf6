#include "plugins/container/launcher/tools_mount.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "sdk/support/files.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena::container {
namespace {

Error bad_tool(const std::string& name, const std::string& right) {
  return make_error(ErrorCode::invalid_argument, "trusted tool '" + name + "': " + right);
}

Status copy_program(int from, int to, const std::string& name, std::size_t& room) {
  UniqueFd source(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (!source || ::fstat(source.get(), &info) != 0) return errno_error(errno, "open trusted tool '" + name + "'");
  if (!S_ISREG(info.st_mode)) return bad_tool(name, "a program or a link to one is right");
  auto left = static_cast<std::size_t>(info.st_size);
  if (left > room) return make_error(ErrorCode::out_of_range, "the trusted tools are over 64 MiB at '" + name + "'");
  room -= left;
  UniqueFd copy(::openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!copy) return errno_error(errno, "make trusted tool '" + name + "'");
  while (left > 0) {
    const ssize_t moved = ::sendfile(copy.get(), source.get(), nullptr, left);
    if (moved <= 0) return errno_error(moved == 0 ? EIO : errno, "copy trusted tool '" + name + "'");
    left -= static_cast<std::size_t>(moved);
  }
  // Execute-only for everybody: see the header.
  if (::fchmod(copy.get(), 0111) != 0) return errno_error(errno, "chmod trusted tool '" + name + "'");
  return {};
}

Status copy_one(int from, int to, const std::string& name, std::size_t& room) {
  std::array<char, PATH_MAX> target;
  const ssize_t length = ::readlinkat(from, name.c_str(), target.data(), target.size());
  if (length < 0) return copy_program(from, to, name, room);
  const std::string text(target.data(), static_cast<std::size_t>(length));
  if (text.find('/') != std::string::npos) return bad_tool(name, "its link leads to '" + text + "'; a bare name of the same folder is right");
  if (::symlinkat(text.c_str(), to, name.c_str()) != 0) return errno_error(errno, "link trusted tool '" + name + "'");
  return {};
}

}  // namespace

Status mount_tools(int folder, const std::string& spot) {
  HARENA_TRY(auto names, list_directory(folder, "."));
  if (names.size() > kMostTools) return make_error(ErrorCode::out_of_range, "more than 4096 trusted tools");
  HARENA_TRY(UniqueFd tmpfs, new_filesystem("tmpfs", {{"source", "tools"}, {"mode", "0755"}, {"size", "65m"}}, kMountNoSuid | kMountNoDev));
  std::size_t room = kMostToolsBytes;
  for (const auto& name : names) HARENA_TRY_STATUS(copy_one(folder, tmpfs.get(), name, room));
  HARENA_TRY_STATUS(restrict_mount(tmpfs.get(), kMountReadOnly));
  HARENA_TRY(UniqueFd made, ensure_directory(AT_FDCWD, spot, 0700));
  return attach_mount(tmpfs.get(), AT_FDCWD, spot);
}

}  // namespace harena::container
