#include "shim/command_child.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "sdk/session/hello.hpp"
#include "sdk/support/cpu_set.hpp"
#include "sdk/support/scheduling.hpp"
#include "shim/command_plan.hpp"
#include "shim/process_set.hpp"
#include "shim/spawn.hpp"
#include "shim/start_failure.hpp"
#include "shim/users.hpp"

namespace harena::shim {
namespace {

using session::StartRequest;

bool is_device(int fd, unsigned major_number, unsigned minor_number) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && major(info.st_rdev) == major_number &&
         minor(info.st_rdev) == minor_number;
}

/// The sandbox's own node if it is what it says, else the shim's.
int open_null(const Sandbox& sandbox) {
  int fd = ::open("/dev/null", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  return fd >= 0 && is_device(fd, 1, 3) ? fd : sandbox.null_fd();
}

Status set_stdio(int in, int out, int err) {
  if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) return errno_error(errno, "dup2");
  return {};
}

/// A PTY of the sandbox's own devpts, so that `tty` and /dev/pts agree inside; its master goes to the shim.
Status open_pty(const StartRequest& request, const Identity& identity, int channel) {
  UniqueFd master(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!master || !(is_device(master.get(), 5, 2))) {
    return make_error(ErrorCode::failed_precondition, "the sandbox has no /dev/ptmx, so it can't have a PTY");
  }
  int unlock = 0;
  if (::ioctl(master.get(), TIOCSPTLCK, &unlock) != 0) return errno_error(errno, "unlocking the PTY");
  winsize size{request.rows, request.cols, 0, 0};
  (void)::ioctl(master.get(), TIOCSWINSZ, &size);
  // By descriptor, not by name: nothing that the agent mounted on /dev/pts comes between.
  UniqueFd slave(static_cast<int>(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)));
  if (!slave) return errno_error(errno, "opening the PTY");
  (void)!::fchown(slave.get(), identity.uid, static_cast<gid_t>(-1));
  if (::ioctl(slave.get(), TIOCSCTTY, 0) != 0) return errno_error(errno, "taking the PTY as terminal");
  HARENA_TRY_STATUS(set_stdio(slave.get(), slave.get(), slave.get()));
  send_report(channel, Report::pty, {}, master.get());
  return {};
}

Status set_streams(const Sandbox& sandbox, const StartRequest& request, const ChildStdio& stdio,
                   const Identity& identity, int channel) {
  if (request.pty) return open_pty(request, identity, channel);
  return set_stdio(stdio.in >= 0 ? stdio.in : open_null(sandbox), stdio.out, stdio.err);
}

Status enter_folder(const StartRequest& request, const Identity& identity) {
  if (request.cwd.empty() && request.trusted_tools) return ::chdir("/") == 0 ? ok_status() : Status(errno_error(errno, "cwd '/'"));
  if (request.cwd.empty()) {
    if (::chdir(identity.home.c_str()) != 0 && ::chdir("/") != 0) return errno_error(errno, "cwd '/'");
    return {};
  }
  if (::chdir(request.cwd.c_str()) == 0) return {};
  return explain_failure({StartStep::cwd, false, errno}, request.cwd, "", "");
}

/// The script as a sealed memory file that its own first statement closes.
Status offer_script(const std::string& text) {
  UniqueFd file(static_cast<int>(::syscall(SYS_memfd_create, "script", MFD_ALLOW_SEALING | MFD_CLOEXEC)));
  if (!file) return errno_error(errno, "memfd_create");
  std::string content = "exec " + std::to_string(kScriptFd) + "<&-; " + text + "\n";
  for (std::size_t done = 0; done < content.size();) {
    auto wrote = ::write(file.get(), content.data() + done, content.size() - done);
    if (wrote <= 0) return errno_error(errno, "writing the script");
    done += static_cast<std::size_t>(wrote);
  }
  ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  // dup2 gives a descriptor without CLOEXEC: this one is meant to survive the exec.
  if (::dup2(file.get(), kScriptFd) < 0) return errno_error(errno, "dup2");
  return {};
}

Result<std::vector<std::string>> arguments(const Sandbox& sandbox, const StartRequest& request) {
  if (request.shell.empty()) return request.argv;
  const std::string shell = shell_of(sandbox, request);
  if (request.shell.size() <= kMaxInlineShellBytes) return shell_words(sandbox, request);
  HARENA_TRY_STATUS(offer_script(request.shell));
  return std::vector<std::string>{shell, "-c", ". /proc/self/fd/" + std::to_string(kScriptFd), "sh"};
}

/// Only returns if it failed.
Error execute(std::vector<std::string> argv, Environment environment, const std::string& path) {
  auto argument_pointers = pointers(argv);
  auto environment_pointers = pointers(environment);
  int worst = ENOENT;
  for (const auto& file : executables(argv.front(), path)) {
    ::execve(file.c_str(), argument_pointers.data(), environment_pointers.data());
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
  }
  const bool is_there = ::access(argv.front().c_str(), F_OK) == 0;
  return explain_failure({StartStep::program, is_there, worst}, "", argv.front(), path);
}

Status prepare(const Sandbox& sandbox, const StartRequest& request, const ChildStdio& stdio, int channel,
               std::uint64_t mark, const FilterKey& key, Environment& environment, std::vector<std::string>& argv) {
  if (request.trusted_tools && sandbox.options().tools.empty()) {
    return make_error(ErrorCode::failed_precondition, "trusted_tools: this sandbox was made without them; harena doctor says what the host lacks");
  }
  if (mark != 0) put_mark(mark);
  HARENA_TRY_STATUS(sandbox.join_counting_cgroups());
  HARENA_TRY_STATUS(sandbox.enter_all(key));
  // The init has those that the backend chose; in the sandbox's pid namespace it is 1.
  if (sandbox.has_namespaces()) take_cpus_of(1);
  ::setsid();
  HARENA_TRY(auto identity, resolve_user(request.user, request.groups));
  HARENA_TRY_STATUS(set_streams(sandbox, request, stdio, identity, channel));
  HARENA_TRY_STATUS(sandbox.drop_capabilities());
  bool unprivileged_host = !sandbox.has_namespaces() && request.user.empty() && ::geteuid() != 0;
  if (!unprivileged_host) HARENA_TRY_STATUS(become(identity));
  HARENA_TRY_STATUS(enter_folder(request, identity));
  ::umask(022);
  environment = make_environment(sandbox, request, identity);
  ::syscall(SYS_close_range, 3u, UINT_MAX, 4u /* CLOSE_RANGE_CLOEXEC */);
  HARENA_TRY(argv, arguments(sandbox, request));
  // Late: what comes before opens descriptors.
  for (const auto& limit : sandbox.options().rlimits) HARENA_TRY_STATUS(limit.apply());
  return {};
}

}  // namespace

void run_command_child(const Sandbox& sandbox, const StartRequest& request, const ChildStdio& stdio,
                       int report_channel, std::uint64_t mark, const FilterKey& key) {
  int channel = ::fcntl(report_channel, F_DUPFD_CLOEXEC, 64);
  Environment environment;
  std::vector<std::string> argv;
  auto prepared = prepare(sandbox, request, stdio, channel, mark, key, environment, argv);
  if (!prepared) return send_report(channel, Report::error, session::encode_error(prepared.error()));
  std::array<char, 8> pid;
  session::put_u64(pid.data(), static_cast<std::uint64_t>(::getpid()));
  send_report(channel, Report::pid, {pid.data(), pid.size()});
  if (auto status = sandbox.choose_apparmor(); !status) {
    return send_report(channel, Report::error, session::encode_error(status.error()));
  }
  // Born with the spawner's short slice; what it runs has the machine's.
  (void)prefer_nothing();
  const std::string path = search_path(sandbox, request, environment);
  send_report(channel, Report::error, session::encode_error(execute(std::move(argv), std::move(environment), path)));
}

}  // namespace harena::shim
