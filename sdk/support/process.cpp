#include "sdk/support/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>

#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"

namespace harena {
namespace {

Error no_such_process(pid_t pid) {
  return make_error(ErrorCode::not_found, "process " + std::to_string(pid) + " has ended");
}

}  // namespace

Result<ProcessRef> process_ref(pid_t pid) {
  auto stat = read_file_at(AT_FDCWD, "/proc/" + std::to_string(pid) + "/stat");
  if (!stat.ok() && stat.error().code == ErrorCode::resource_exhausted) return std::move(stat).error();
  if (!stat.ok()) return no_such_process(pid);
  // The name in parentheses may hold anything; what follows its last ')' begins with field 3.
  const std::size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos) return no_such_process(pid);
  auto fields = split(std::string_view(*stat).substr(name_end + 2), ' ');
  constexpr std::size_t kStartTime = 22 - 3;
  if (fields.size() <= kStartTime) return no_such_process(pid);
  HARENA_TRY(auto ticks, parse_int(fields[kStartTime], 0, INT64_MAX, "start time"));
  return ProcessRef{pid, static_cast<std::uint64_t>(ticks)};
}

Result<UniqueFd> open_process(const ProcessRef& process) {
  if (process.pid <= 0) return no_such_process(process.pid);
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  // Without a descriptor to spare nothing is known of it, least of all that it has ended.
  if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) return errno_error(errno, "looking at a process");
  if (!fd) return no_such_process(process.pid);
  // Looked at after the descriptor is held: from here on the pid can't change hands unnoticed.
  HARENA_TRY(auto now, process_ref(process.pid));
  if (now != process || wait_process_end(fd.get(), 0)) return no_such_process(process.pid);
  return fd;
}

Status signal_process(int pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0 || errno == ESRCH) return {};
  return errno_error(errno, "pidfd_send_signal");
}

bool wait_process_end(int pidfd, std::int64_t deadline_ns) {
  while (true) {
    pollfd watched{pidfd, POLLIN, 0};
    const int ready = ::poll(&watched, 1, deadline_ns == 0 ? 0 : poll_timeout_ms(deadline_ns));
    if (ready > 0) return true;
    if (ready < 0 && errno == EINTR) continue;
    return false;
  }
}

Result<std::string> boot_id() {
  HARENA_TRY(auto text, read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id"));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::int64_t monotonic_now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

int poll_timeout_ms(std::int64_t deadline_ns) {
  const std::int64_t left = deadline_ns - monotonic_now_ns();
  if (left <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>((left + 999'999) / 1'000'000, INT_MAX));
}

}  // namespace harena
