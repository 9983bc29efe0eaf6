#include "plugins/container/sandbox_user.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sdk/base/text.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::container {
namespace {

/// shim/users.hpp reads as much.
constexpr std::size_t kMostBytes = 4 << 20;

UniqueFd open_inside(int root, const char* path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, root, path, &how, sizeof how)));
}

/// Empty when there is no such regular file. Looked at first: opening a device or a FIFO could have effects.
std::string read_inside(int root, const char* path) {
  struct stat info{};
  const UniqueFd place = open_inside(root, path, O_PATH);
  if (!place || ::fstat(place.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const UniqueFd file = open_inside(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string text(std::min(static_cast<std::size_t>(info.st_size), kMostBytes), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

bool is_number(const std::string& text) { return parse_int(text, 0, UINT32_MAX - 1, "id").ok(); }

/// A line with the name, a number where one is wanted, and as many fields.
bool has_name(const std::string& database, const std::string& name, std::size_t fields) {
  for (const auto& line : split(database, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() >= fields && parts[0] == name && is_number(parts[2]) && (fields < 4 || is_number(parts[3]))) return true;
  }
  return false;
}

Error no_such(const char* what, const std::string& name, const std::string& user, const char* file) {
  Error error = make_error(ErrorCode::invalid_argument, "parameter 'user' is '" + user + "': there is no " + what + " '" + name +
                                                            "' in the image's " + file + "; a name that is there, or a number, is right");
  error.cause_detail = std::string("no_such_") + what;
  return error;
}

}  // namespace

Status check_user(int root, const std::string& user) {
  const std::size_t colon = user.find(':');
  const std::string name = user.substr(0, colon);
  if (!name.empty() && !is_number(name) && !has_name(read_inside(root, "etc/passwd"), name, 6)) {
    return no_such("user", name, user, "/etc/passwd");
  }
  if (colon == std::string::npos) return {};
  const std::string group = user.substr(colon + 1);
  if (!is_number(group) && !has_name(read_inside(root, "etc/group"), group, 3)) return no_such("group", group, user, "/etc/group");
  return {};
}

Status check_sandbox_user(pid_t init, const std::string& user) {
  if (user.empty()) return {};
  const std::string path = "/proc/" + std::to_string(init) + "/root";
  UniqueFd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return errno_error(errno, "open " + path);
  return check_user(root.get(), user);
}

}  // namespace harena::container
