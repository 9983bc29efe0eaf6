// A shim for the tests of this room: speaks no session protocol, but takes the same command line as harena-shim. A
// connection sends an argument list (NUL after each) and shuts its writing side; it gets the output and then "\nexit=N\n".

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "sdk/support/capabilities.hpp"
#include "sdk/support/cpu_set.hpp"
#include "sdk/support/process.hpp"
#include "sdk/support/resource_limit.hpp"
#include "sdk/support/seccomp_program.hpp"

namespace {

struct Options {
  std::map<std::string, std::string> values;
  std::vector<int> v1_tasks;
  std::vector<std::string> environment;
  std::vector<harena::ResourceLimit> rlimits;
  int fd(const char* name) const { return std::atoi(values.at(name).c_str()); }
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--v1-tasks-fd") == 0) options.v1_tasks.push_back(std::atoi(argv[i + 1]));
    else if (std::strcmp(argv[i], "--environment") == 0) options.environment.push_back(argv[i + 1]);
    else if (std::strcmp(argv[i], "--rlimit") == 0) options.rlimits.push_back(harena::ResourceLimit::parse(argv[i + 1]).value());
    else options.values[argv[i]] = argv[i + 1];
  }
  return options;
}

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  ::_exit(125);
}

[[noreturn]] void run_inside(const Options& options, const std::vector<sock_filter>& filter, const std::string& request, int out) {
  for (int fd : options.v1_tasks) {
    if (::write(fd, "0", 1) != 1) fail("join v1");
  }
  // As harena-shim does where it couldn't protect the init from the OOM killer.
  if (const int score = ::open("/proc/self/oom_score_adj", O_WRONLY); score >= 0) {
    (void)!::write(score, "500", 3);
    ::close(score);
  }
  harena::take_cpus_of(1);
  constexpr int kAll = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  if (::setns(options.fd("--init-pidfd"), kAll) != 0) fail("setns");
  if (::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0 || ::chdir("/") != 0) fail("become root");
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  auto limited = harena::limit_capabilities(std::strtoull(options.values.at("--caps").c_str(), nullptr, 16));
  if (!limited.ok() || !harena::install_seccomp(filter).ok()) fail("limit");
  std::vector<char*> argv, environment;
  std::string text = request;
  for (std::size_t at = 0; at < text.size(); at += std::strlen(&text[at]) + 1) argv.push_back(&text[at]);
  argv.push_back(nullptr);
  for (const auto& variable : options.environment) environment.push_back(const_cast<char*>(variable.c_str()));
  environment.push_back(nullptr);
  ::dup2(out, 1);
  ::dup2(out, 2);
  ::close_range(3, ~0u, 0);
  for (const auto& limit : options.rlimits) {
    if (!limit.apply().ok()) fail("setrlimit");
  }
  ::execvpe(argv[0], argv.data(), environment.data());
  fail("exec");
}

void serve(const Options& options, const std::vector<sock_filter>& filter, int connection) {
  std::string request;
  char block[65536];
  for (ssize_t got; (got = ::read(connection, block, sizeof block)) > 0;) request.append(block, static_cast<std::size_t>(got));
  ::signal(SIGCHLD, SIG_DFL);
  if (::setns(options.fd("--init-pidfd"), CLONE_NEWPID) != 0) fail("setns pid");
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<std::uint64_t>(options.fd("--cgroup-fd"));
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) run_inside(options, filter, request, connection);
  int status = 0;
  std::string end = "\nexit=clone failed\n";
  if (pid > 0) {
    ::waitpid(static_cast<pid_t>(pid), &status, 0);
    end = "\nexit=" + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)) + "\n";
  }
  (void)!::write(connection, end.data(), end.size());
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::signal(SIGPIPE, SIG_IGN);
  auto filter = harena::read_seccomp_memfd(options.fd("--seccomp-fd"));
  if (!filter.ok()) return 1;
  ::signal(SIGCHLD, SIG_IGN);  // no zombies
  if (::write(options.fd("--ready-fd"), "ready", 5) != 5) return 1;
  ::close(options.fd("--ready-fd"));
  while (true) {
    // One process a connection, so that a command which hangs hinders no other.
    pollfd watched[2] = {{options.fd("--listen-fd"), POLLIN, 0}, {options.fd("--init-pidfd"), POLLIN, 0}};
    ::poll(watched, 2, -1);
    if (watched[1].revents != 0) return 0;
    const int connection = ::accept4(options.fd("--listen-fd"), nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    if (::fork() == 0) {
      serve(options, *filter, connection);
      ::_exit(0);
    }
    ::close(connection);
  }
}
