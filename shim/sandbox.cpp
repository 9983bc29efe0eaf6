#include "shim/sandbox.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "shim/process_flags.hpp"
#include "shim/start_failure.hpp"

namespace harena::shim {
namespace {

struct NamespaceKind {
  const char* name;
  int flag;
  bool for_files;
};
constexpr std::array kNamespaces = {
    NamespaceKind{"user", CLONE_NEWUSER, true},   NamespaceKind{"mnt", CLONE_NEWNS, true},
    NamespaceKind{"net", CLONE_NEWNET, false},    NamespaceKind{"ipc", CLONE_NEWIPC, false},
    NamespaceKind{"uts", CLONE_NEWUTS, false},    NamespaceKind{"cgroup", CLONE_NEWCGROUP, false}};

int open_at(int dir, const std::string& path, int flags) {
  return ::openat(dir, path.c_str(), flags | O_CLOEXEC);
}

/// Whether process `pid` is in another namespace of this kind than the caller.
bool differs(int proc, int pid, const char* kind) {
  struct stat own{}, other{};
  std::string tail = std::string("/ns/") + kind;
  return ::fstatat(proc, ("self" + tail).c_str(), &own, 0) == 0 &&
         ::fstatat(proc, (std::to_string(pid) + tail).c_str(), &other, 0) == 0 && own.st_ino != other.st_ino;
}

UniqueFd take(int fd) {
  if (fd >= 0) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return UniqueFd(fd);
}

bool has_file(int folder, const char* name) { return ::faccessat(folder, name, F_OK, 0) == 0; }

std::string folder_of_descriptor(int fd) {
  std::array<char, 4096> path;
  auto length = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size());
  std::string text(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return text.substr(0, text.rfind('/') + 1);
}

Status join(const std::vector<UniqueFd>& groups) {
  // "0" is the writer itself; `tasks` moves one thread and doesn't take the global threadgroup lock.
  for (const auto& tasks : groups) {
    if (::write(tasks.get(), "0", 1) == 1) continue;
    return infrastructure_error(ErrorCode::internal, "cgroup", errno_error(errno, "joining a v1 cgroup").message);
  }
  return {};
}

/// What the shim or whoever started harenad ignores (SIGPIPE, SIGHUP; SIGINT and SIGQUIT of a background job): CLONE_CLEAR_SIGHAND
/// keeps it ignored, and `yes | head` would never end. Raw: glibc refuses 32 and 33, its own in this process but not in the next.
void reset_ignored_signals() {
  struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    std::uint64_t mask;
  } by_default{};
  for (int signal = 1; signal <= 64; ++signal) ::syscall(SYS_rt_sigaction, signal, &by_default, nullptr, sizeof by_default.mask);
}

}  // namespace

Result<Sandbox> Sandbox::open(Options options) {
  Sandbox sandbox;
  sandbox.options_ = std::move(options);
  sandbox.shim_pid_ = ::getpid();
  HARENA_TRY_STATUS(sandbox.take_descriptors());
  HARENA_TRY_STATUS(sandbox.read_seccomp());
  if (sandbox.has_namespaces()) HARENA_TRY_STATUS(sandbox.find_namespaces());
  return sandbox;
}

Status Sandbox::take_descriptors() {
  init_pidfd_ = take(options_.init_pidfd);
  cgroup_ = take(options_.cgroup_fd);
  host_proc_ = UniqueFd(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!host_proc_) return errno_error(errno, "opening /proc");
  null_ = UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null_) return errno_error(errno, "opening /dev/null");
  open_counters();
  // Pipes of a thousand commands: up to the hard limit for the shim, the original for what it starts.
  ::getrlimit(RLIMIT_NOFILE, &open_files_);
  rlimit raised{open_files_.rlim_max, open_files_.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);
  UniqueFd adj(open_at(host_proc_.get(), "self/oom_score_adj", O_RDONLY));
  oom_adjusted_ = adj && std::atoi(read_small_file(adj.get()).c_str()) != 0;
  return {};
}

void Sandbox::open_counters() {
  if (has_cgroup()) counters_.add_group(cgroup_.get());
  for (int fd : options_.v1_tasks_fds) {
    auto tasks = take(fd);
    UniqueFd folder(::open(folder_of_descriptor(fd).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (folder) counters_.add_group(folder.get());
    const bool counts = !folder || has_file(folder.get(), "pids.max") || has_file(folder.get(), "memory.limit_in_bytes");
    (counts ? v1_counting_ : v1_shared_).push_back(std::move(tasks));
  }
}

Status Sandbox::find_namespaces() {
  for (const auto& kind : kNamespaces) {
    if (!differs(host_proc_.get(), options_.init_pid, kind.name)) continue;
    namespace_flags_ |= kind.flag;
    if (kind.for_files) file_namespace_flags_ |= kind.flag;
  }
  own_pid_namespace_ = UniqueFd(open_at(host_proc_.get(), "self/ns/pid", O_RDONLY));
  if (!own_pid_namespace_) return errno_error(errno, "opening the own pid namespace");
  // The shim's listening socket has a path and works across network namespaces; TCP sockets for `dial`
  // are then born inside without a helper process.
  if ((namespace_flags_ & CLONE_NEWNET) != 0) {
    if (::setns(init_pidfd_.get(), CLONE_NEWNET) != 0) return errno_error(errno, "entering the sandbox's network namespace");
    namespace_flags_ &= ~CLONE_NEWNET;
  }
  if (::setns(init_pidfd_.get(), CLONE_NEWPID) != 0) return errno_error(errno, "joining the sandbox's pid namespace");
  return {};
}

Status Sandbox::read_seccomp() {
  UniqueFd fd = take(options_.seccomp_fd);
  if (!fd) return {};
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return errno_error(errno, "--seccomp-fd");
  constexpr auto kUnit = sizeof(sock_filter);
  constexpr std::size_t kMost = BPF_MAXINSNS - FilterKey::kDoorInstructions;
  const auto bytes = static_cast<std::size_t>(info.st_size);
  if (bytes == 0 || bytes % kUnit != 0 || bytes / kUnit > kMost) {
    return make_error(ErrorCode::invalid_argument, "--seccomp-fd: " + std::to_string(bytes) + " bytes aren't 1 to " + std::to_string(kMost) +
                                                       " BPF instructions of 8 bytes");
  }
  seccomp_program_.resize(bytes / kUnit);
  if (::pread(fd.get(), seccomp_program_.data(), bytes, 0) != info.st_size) return errno_error(errno, "reading --seccomp-fd");
  return {};
}

void Sandbox::children_inside(bool inside) const {
  if (has_namespaces()) ::setns(inside ? init_pidfd_.get() : own_pid_namespace_.get(), CLONE_NEWPID);
}

std::vector<int> Sandbox::descriptors_for_children() const {
  std::vector<int> all = {init_pidfd_.get(), host_proc_.get()};
  for (const auto* groups : {&v1_counting_, &v1_shared_}) {
    for (const auto& tasks : *groups) all.push_back(tasks.get());
  }
  for (int fd : counters_.descriptors()) all.push_back(fd);
  return all;
}

std::vector<int> Sandbox::descriptors_for_spawner() const {
  auto all = descriptors_for_children();
  all.push_back(null_.get());
  return all;
}

Error shim_has_died() { return infrastructure_error(ErrorCode::unavailable, "shim", "the sandbox's shim has died"); }

bool is_death_of_shim(const Error& error) { return error.code == ErrorCode::unavailable && error.cause_detail == "shim"; }

Status Sandbox::die_with_shim() const {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == shim_pid_) return {};
  return shim_has_died();
}

Status Sandbox::join_counting_cgroups() const {
  HARENA_TRY_STATUS(join(v1_counting_));
  if (!v1_counting_.empty() && counters_.pids_exceeded()) return pids_error();
  return {};
}

Status Sandbox::join_shared_cgroups() const { return join(v1_shared_); }

Status Sandbox::check_room_for_process() const {
  if (counters_.pids_full()) return pids_error();
  return {};
}

bool Sandbox::disk_is_full() const {
  if (!has_namespaces()) return false;
  // Opened when it's needed: a descriptor kept would hold the sandbox's mounts beyond its end.
  UniqueFd root(open_at(host_proc_.get(), std::to_string(options_.init_pid) + "/root", O_PATH | O_DIRECTORY));
  struct statfs info{};
  if (!root || ::fstatfs(root.get(), &info) != 0 || info.f_blocks == 0) return false;
  constexpr std::uint64_t kNothingBytes = 64 << 10;  // what a file system keeps back for itself
  return static_cast<std::uint64_t>(info.f_bavail) * static_cast<std::uint64_t>(info.f_bsize) < kNothingBytes ||
         (info.f_files > 0 && info.f_ffree == 0);
}

Error Sandbox::entering_failed(int number) const {
  if (!init_is_dying()) return errno_error(number, "entering the sandbox");
  auto ending = make_error(ErrorCode::unavailable, "the sandbox's first process has ended, and so does the sandbox");
  ending.retry = Retry::same_node;
  return ending;
}

Status Sandbox::enter_all(const FilterKey& key) const {
  if (namespace_flags_ == 0) return {};
  if (key.setns(init_pidfd_.get(), namespace_flags_) != 0) return entering_failed(errno);
  return {};
}

Entrance Sandbox::entrance() const {
  Entrance entrance;
  entrance.init_pidfd = init_pidfd_.get();
  entrance.namespaces = namespace_flags_;
  entrance.host_proc = host_proc_.get();
  entrance.null_device = null_.get();
  for (const auto& tasks : v1_counting_) entrance.counting_groups.push_back(tasks.get());
  entrance.process_counts = counters_.process_counts();
  entrance.capabilities = options_.caps;
  entrance.limits = options_.rlimits;
  if (!options_.apparmor.empty()) entrance.apparmor = "exec " + options_.apparmor;
  return entrance;
}

Status Sandbox::enter_for_files() const {
  if (file_namespace_flags_ == 0) return {};
  if (::setns(init_pidfd_.get(), file_namespace_flags_) != 0) return entering_failed(errno);
  return {};
}

Status Sandbox::drop_capabilities() const {
  if (!options_.caps) return {};
  for (int cap = 0; cap < 64; ++cap) {
    if ((*options_.caps >> cap & 1) != 0) continue;
    // EINVAL: past the last capability that this kernel knows.
    if (::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) {
      if (errno == EINVAL) break;
      return errno_error(errno, "dropping capability " + std::to_string(cap));
    }
  }
  return {};
}

Status Sandbox::choose_apparmor() const {
  if (options_.apparmor.empty()) return {};
  // Beside other modules AppArmor has a folder of its own (Linux 5.8); "thread-self" is this process in the host's numbering.
  UniqueFd attribute(open_at(host_proc_.get(), "thread-self/attr/apparmor/exec", O_WRONLY));
  if (!attribute) attribute = UniqueFd(open_at(host_proc_.get(), "thread-self/attr/exec", O_WRONLY));
  const std::string command = "exec " + options_.apparmor;
  if (attribute && ::write(attribute.get(), command.data(), command.size()) == static_cast<ssize_t>(command.size())) return {};
  return errno_error(errno, "putting the AppArmor profile '" + options_.apparmor + "' on the command");
}

Status Sandbox::confine_spawner(const FilterKey& key) const {
  if (has_namespaces()) ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (seccomp_program_.empty()) return {};
  auto code = key.open_door_in(seccomp_program_);
  sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return errno_error(errno, "installing the seccomp filter");
  return {};
}

void Sandbox::set_oom_score(std::string_view score) const {
  UniqueFd adj(open_at(host_proc_.get(), "self/oom_score_adj", O_WRONLY));
  if (adj) (void)!::write(adj.get(), score.data(), score.size());
}

void Sandbox::restore_process_defaults() const {
  // Ignored signals stay so through clone and exec: a writer whose reader left must die of SIGPIPE.
  reset_ignored_signals();
  ::setrlimit(RLIMIT_NOFILE, &open_files_);
  if (oom_adjusted_) return set_oom_score("0");
  if (has_namespaces()) set_oom_score("500");
}

bool Sandbox::init_is_dying() const {
  if (!has_namespaces()) return false;
  const auto init = process_flags(host_proc_.get(), options_.init_pid);
  return !init || init->state == 'Z' || init->state == 'X' || init->exiting;
}

}  // namespace harena::shim
