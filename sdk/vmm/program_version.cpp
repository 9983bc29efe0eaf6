#include "sdk/vmm/program_version.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "sdk/base/unique_fd.hpp"
#include "sdk/support/process.hpp"
#include "sdk/support/spawn_attributes.hpp"

namespace harena::vmm {
namespace {

constexpr std::size_t kMostBytes = 4096;

Result<pid_t> spawn_into(const std::string& path, int out) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  const OwnSession attributes;
  std::array<char*, 3> argv = {const_cast<char*>(path.c_str()), const_cast<char*>("--version"), nullptr};
  std::array<char*, 1> environment = {nullptr};
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, path.c_str(), &actions, attributes.get(), argv.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return make_error(ErrorCode::failed_precondition, path + " can't be run: " + std::strerror(failed));
  return pid;
}

/// Until its end, or as much as a version needs, or the deadline.
std::string read_some(int from, std::int64_t deadline_ns) {
  std::string text;
  std::array<char, 512> buffer;
  pollfd wait{from, POLLIN, 0};
  while (text.size() < kMostBytes) {
    const int ready = ::poll(&wait, 1, poll_timeout_ms(deadline_ns));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

std::string version_in(const std::string& text) {
  constexpr const char* kDigits = "0123456789";
  for (std::size_t at = text.find_first_of(kDigits); at != std::string::npos; at = text.find_first_of(kDigits, at)) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789.", at), text.size());
    std::string found = text.substr(at, end - at);
    while (found.ends_with('.')) found.pop_back();
    if (found.find('.') != std::string::npos && found.find("..") == std::string::npos) return found;
    at = end;
  }
  return {};
}

Result<std::string> program_version(const std::string& path, std::int64_t patience_ns) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "pipe2");
  UniqueFd from(ends[0]), to(ends[1]);
  HARENA_TRY(const pid_t pid, spawn_into(path, to.get()));
  to.reset();
  const std::int64_t deadline = monotonic_now_ns() + patience_ns;
  const std::string text = read_some(from.get(), deadline);
  ::kill(pid, SIGKILL);  // our own child, not waited for yet
  ::waitpid(pid, nullptr, 0);
  const std::string version = version_in(text);
  if (!version.empty()) return version;
  if (text.empty() && monotonic_now_ns() >= deadline) {
    return make_error(ErrorCode::deadline_exceeded,
                      path + " --version said nothing within " + std::to_string(patience_ns / 1'000'000'000) + " s");
  }
  return make_error(ErrorCode::failed_precondition, path + " --version says no version");
}

Result<std::string> VersionCache::of(const std::string& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return errno_error(errno, "looking at " + path);
  const std::int64_t mtime_ns = file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec;
  std::lock_guard lock(mutex_);
  Known& known = known_[path];
  if (!known.version.empty() && known.bytes == file.st_size && known.mtime_ns == mtime_ns) return known.version;
  HARENA_TRY(const std::string version, program_version(path, patience_ns_));
  known = {file.st_size, mtime_ns, version};
  return version;
}

}  // namespace harena::vmm
