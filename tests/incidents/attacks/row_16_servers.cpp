// Row 16: the sandbox kills, stops and starves what serves it. Row 15's moving target for the file API is here too.

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <utility>

#include "tests/incidents/attacks/attack.hpp"

namespace harena::incidents {
namespace {

long interface_down() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  ifreq wanted{};
  std::snprintf(wanted.ifr_name, sizeof wanted.ifr_name, "lo");
  const long answer = ::ioctl(socket, SIOCSIFFLAGS, &wanted);
  const int error = errno;
  ::close(socket);
  errno = error;
  return answer;
}

long raise_oom_protection() {
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY);
  const long answer = fd < 0 ? -1 : ::write(fd, "-1000", 5);
  const int error = errno;
  ::close(fd);
  errno = error;
  return answer;
}

long realtime() {
  sched_param parameter{50};
  return ::sched_setscheduler(0, SCHED_FIFO, &parameter);
}

long set_affinity_of(pid_t pid) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  return ::sched_setaffinity(pid, sizeof cpus, &cpus);
}

void fill(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  static std::array<char, 1 << 20> block;
  // What the memory limit or the size of the file system leaves; at most 256 MiB of somebody's disk.
  for (int i = 0; i < 256 && ::write(fd, block.data(), block.size()) > 0; ++i) {
  }
  ::close(fd);
}

}  // namespace

void row_16(Report& report) {
  for (int signal : {SIGKILL, SIGSTOP, SIGTERM, SIGHUP, SIGSEGV, SIGCONT}) (void)::kill(1, signal);
  // Signals to init from inside its own pid namespace are dropped; it is still there to answer.
  const std::string state = read_file("/proc/1/stat");
  const std::size_t name_end = state.rfind(')');
  const char letter = name_end == std::string::npos ? '?' : state[name_end + 2];
  report.check("signals_to_init", letter == 'S', std::string("init's state is ") + letter);
  report.refused("trace_init", ::syscall(SYS_ptrace, 16, 1, nullptr, nullptr), {EPERM});
  rlimit none{0, 0};
  report.refused("limits_of_init", ::prlimit(1, RLIMIT_NOFILE, &none, nullptr), {EPERM});
  report.refused("realtime", realtime(), {EPERM});
  report.refused("nice", ::setpriority(PRIO_PROCESS, 0, -20), {EACCES, EPERM});
  report.refused("oom_score", raise_oom_protection(), {EACCES, EPERM});
  timespec time{1, 0};
  report.refused("clock", ::clock_settime(CLOCK_REALTIME, &time), {EPERM});
  timeval day{1, 0};
  report.refused("settimeofday", ::settimeofday(&day, nullptr), {EPERM});
  timex adjustment{};
  adjustment.modes = ADJ_TICK;
  report.refused("adjtimex", ::adjtimex(&adjustment), {EPERM});
  report.refused("affinity_of_init", set_affinity_of(1), {EPERM});
  report.refused("domain_name", ::setdomainname("x", 1), {EPERM});
  report.refused("hostname_file", ::open("/proc/sys/kernel/hostname", O_WRONLY), {EROFS, EACCES});
  report.refused("oom_score_of_init", ::open("/proc/1/oom_score_adj", O_WRONLY), {EACCES, EROFS, EPERM});
  report.refused("memory_of_init", ::open("/proc/1/mem", O_RDWR), {EACCES, EPERM});
  report.refused("hostname", ::sethostname("x", 1), {EPERM});
  report.refused("interface", interface_down(), {EPERM});
  report.refused("move_cgroup", ::open("/sys/fs/cgroup/cgroup.procs", O_WRONLY), {ENOENT, EACCES, EROFS});
}

int attack_servers(const std::vector<std::string>&) {
  for (int pid : process_ids()) {
    if (pid != ::getpid() && pid != 1) ::kill(pid, SIGKILL);
  }
  for (int signal = 1; signal < 65; ++signal) (void)::kill(1, signal);
  // All that there are, in one call; not ourselves.
  (void)::kill(-1, SIGSTOP);
  (void)::kill(-1, SIGKILL);
  fill("/tmp/full");
  fill("/dev/shm/full");
  for (const char* path : {"/bin", "/sbin", "/usr", "/lib", "/etc"}) (void)::rename(path, (std::string("/gone") + (path + 1)).c_str());
  (void)::chmod("/", 0);
  (void)::chmod("/tmp", 0);
  (void)::unlink("/dev/null");
  (void)::symlink("/etc/shadow", "/dev/null");
  (void)::unlink("/dev/ptmx");
  return 0;
}

int lay_traps(const std::vector<std::string>&) {
  const std::string folder = "/tmp/traps/";
  (void)::mkdir(folder.c_str(), 0755);
  bool good = ::mkfifo((folder + "fifo").c_str(), 0666) == 0;
  for (const auto& [name, target] : {std::pair("device", "/dev/zero"), std::pair("terminal", "/dev/ptmx"), std::pair("loop", "loop"),
                                     std::pair("init_root", "/proc/1/root/etc/shadow")}) {
    good = ::symlink(target, (folder + name).c_str()) == 0 && good;
  }
  return good ? 0 : 1;
}

int swap_for_ever(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) return 2;
  std::puts("swapping");
  std::fflush(stdout);
  while (true) ::syscall(SYS_renameat2, AT_FDCWD, arguments[0].c_str(), AT_FDCWD, arguments[1].c_str(), 2 /* RENAME_EXCHANGE */);
}

}  // namespace harena::incidents
