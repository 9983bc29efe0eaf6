#include "core/image/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "sdk/base/unique_fd.hpp"

namespace harena::image {
namespace {

constexpr std::size_t kKeptOutput = 16 << 10;
constexpr int kCheckEveryMs = 200;

std::vector<std::string> tool_environment() {
  std::vector<std::string> environment = {"LC_ALL=C.UTF-8"};
  for (const char* name : {"PATH", "HOME", "TMPDIR", "XDG_RUNTIME_DIR", "http_proxy", "https_proxy", "no_proxy",
                           "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    if (const char* value = ::getenv(name)) environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const auto& text : texts) out.push_back(const_cast<char*>(text.c_str()));  // exec's argv isn't const in C
  out.push_back(nullptr);
  return out;
}

/// What posix_spawn needs, freed with it.
class SpawnSetup {
 public:
  explicit SpawnSetup(int output) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  Result<pid_t> spawn(const std::vector<std::string>& argv, const std::vector<std::string>& more) {
    auto environment = tool_environment();
    environment.insert(environment.end(), more.begin(), more.end());
    pid_t pid = 0;
    const int failure = ::posix_spawnp(&pid, argv[0].c_str(), &actions_, &attributes_, pointers(argv).data(),
                                       pointers(environment).data());
    if (failure == 0) return pid;
    if (failure != ENOENT) return errno_error(failure, "starting " + argv[0]);
    return infrastructure_error(ErrorCode::failed_precondition, "tools",
                                argv[0] + " isn't installed on this host; install the package that has it");
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

void keep_tail(std::string& output, std::string_view more) {
  output += more;
  if (output.size() > 2 * kKeptOutput) output.erase(0, output.size() - kKeptOutput);
}

/// False at the end of the output.
bool read_some(int fd, std::string& output) {
  char buffer[4096];
  const auto got = ::read(fd, buffer, sizeof buffer);
  if (got > 0) keep_tail(output, std::string_view(buffer, static_cast<std::size_t>(got)));
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

/// Until the process ends (its descendants may keep the pipe open) or the checkpoint says no.
Status follow(int process, int pipe, std::string& output, const Checkpoint& checkpoint) {
  pollfd watched[2] = {{process, POLLIN, 0}, {pipe, POLLIN, 0}};
  for (;;) {
    HARENA_TRY_STATUS(checkpoint());
    if (::poll(watched, 2, kCheckEveryMs) < 0 && errno != EINTR) return errno_error(errno, "poll");
    if (watched[1].revents != 0 && !read_some(pipe, output)) watched[1].fd = -1;
    if (watched[0].revents != 0 && (watched[1].revents & POLLIN) == 0) return ok_status();
  }
}

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

Result<ProcessOutcome> PosixSpawner::run(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                                         const Checkpoint& checkpoint) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "pipe");
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  HARENA_TRY(const pid_t pid, SpawnSetup(writer.get()).spawn(argv, environment));
  writer.reset();
  // By number: glibc has no wrapper before 2.36. The process isn't waited for yet, so its number can't be another's.
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  ProcessOutcome outcome;
  const Status followed = process ? follow(process.get(), reader.get(), outcome.output, checkpoint)
                                  : Status(errno_error(errno, "pidfd_open"));
  if (!followed) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!followed) return followed.error();
  outcome.exit_code = exit_code_of(status);
  if (outcome.output.size() > kKeptOutput) outcome.output.erase(0, outcome.output.size() - kKeptOutput);
  return outcome;
}

}  // namespace harena::image
