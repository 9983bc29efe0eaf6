#include "plugins/microvm/machine/firecracker_jail.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "plugins/microvm/machine/firecracker_requests.hpp"
#include "plugins/microvm/machine/machine_image.hpp"
#include "sdk/support/files.hpp"

namespace harena::microvm {
namespace {

namespace fs = std::filesystem;
namespace jail = firecracker_jail;

/// The jailer's name for the machine: one to a folder, so all may have the same.
constexpr const char* kId = "harena";
/// Descriptors of Firecracker: its drives, sockets, vCPUs and what it writes.
constexpr const char* kFiles = "no-file=512";

Status make_folder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return errno_error(errno, "making " + path);
}

Status own(const std::string& path, std::uint32_t uid, mode_t mode) {
  if (::lchown(path.c_str(), uid, uid) != 0 || ::chmod(path.c_str(), mode) != 0) return errno_error(errno, "giving " + path + " to a VMM");
  return {};
}

std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

/// What the keeper is started with; made before the fork: another thread may have held the heap's lock at that moment.
struct Launch {
  std::vector<char*> argv;
  const std::vector<int>& groups;
  std::uint32_t uid;
  int console, log, null, lifeline;
};

[[noreturn]] void say_and_leave(int log, const char* what) {
  const std::string text = errno_error(errno, what).describe() + "\n";
  (void)!::write(log, text.data(), text.size());
  ::_exit(127);
}

/// `go`: at its end the keeper has given up its rights.
[[noreturn]] void become_jailer(const Launch& launch, int go) {
  char nothing = 0;
  while (::read(go, &nothing, 1) < 0 && errno == EINTR) {
  }
  ::setsid();
  ::dup2(launch.null, 0);
  ::dup2(launch.console, 1);
  ::dup2(launch.log, 2);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::setrlimit(RLIMIT_MEMLOCK, &none);
  sigset_t empty;
  ::sigemptyset(&empty);
  ::sigprocmask(SIG_SETMASK, &empty, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  // The jailer sets neither: no file of the jail gives rights.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) say_and_leave(2, "no_new_privs");
  char* environment[] = {nullptr};
  ::execve(launch.argv[0], launch.argv.data(), environment);
  say_and_leave(2, "executing the jailer");
}

constexpr int kLifeline = 3;
constexpr int kGo = 4;

/// Only the two ends that it needs stay open, under these numbers.
void close_all_but(int lifeline, int go) {
  constexpr int kAside = 400;
  const int first = ::fcntl(lifeline, F_DUPFD, kAside);
  const int second = ::fcntl(go, F_DUPFD, kAside);
  ::dup2(first, kLifeline);
  ::dup2(second, kGo);
  ::syscall(SYS_close_range, 5U, ~0U, 0U);
  ::close(0);
  ::close(1);
  ::close(2);
}

void drop_to(std::uint32_t uid) {
  // Past the library, which would wait for the threads of the process that this one is a copy of.
  const bool changed = ::syscall(SYS_setgroups, 0, nullptr) == 0 && ::syscall(SYS_setresgid, uid, uid, uid) == 0 &&
                       ::syscall(SYS_setresuid, uid, uid, uid) == 0;
  if (!changed) ::_exit(127);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(127);
  ::prctl(PR_SET_DUMPABLE, 0);
}

[[noreturn]] void keep(const Launch& launch) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "vmm-keeper");
  for (int group : launch.groups) {
    if (::write(group, "0", 1) != 1) say_and_leave(launch.log, "joining a cgroup");
  }
  int go[2];
  if (::pipe2(go, O_CLOEXEC) != 0) say_and_leave(launch.log, "pipe2");
  const auto jailer = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (jailer < 0) say_and_leave(launch.log, "fork of the jailer");
  if (jailer == 0) {
    ::close(go[1]);
    become_jailer(launch, go[0]);
  }
  close_all_but(launch.lifeline, go[1]);
  drop_to(launch.uid);
  // The parent may have died before it was asked for: its end of the pipe is closed then.
  pollfd parent{kLifeline, 0, 0};
  if (::poll(&parent, 1, 0) > 0) ::_exit(127);
  ::close(kGo);
  int status = 0;
  while (::waitpid(jailer, &status, 0) < 0 && errno == EINTR) {
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace

Result<std::unique_ptr<FirecrackerJail>> FirecrackerJail::make(const VmmSpec& spec) {
  std::string base = spec.work_dir + "/vmm-XXXXXX";
  if (::mkdtemp(base.data()) == nullptr) return errno_error(errno, "making a folder below " + spec.work_dir);
  const std::string name = base + "/" + file_name(spec.program);
  std::unique_ptr<FirecrackerJail> made(new FirecrackerJail(base, name + "/" + kId + "/root", spec.uid));
  for (const auto& folder : {name, name + "/" + kId, made->root_}) HARENA_TRY_STATUS(make_folder(folder, 0700));
  HARENA_TRY_STATUS(make_folder(made->inside(jail::kOut), 0700));
  HARENA_TRY_STATUS(own(made->inside(jail::kOut), spec.uid, 0700));
  for (const auto& disk : spec.disks) {
    const std::string drive = jail::drive(disk.serial);
    if (!disk.writable) {
      HARENA_TRY_STATUS(made->put(disk.files[0].path, drive));
      continue;
    }
    HARENA_TRY_STATUS(link_or_copy(disk.files[0].path, made->inside(drive)));
    HARENA_TRY_STATUS(own(made->inside(drive), spec.uid, 0600));
  }
  if (spec.incoming) {
    HARENA_TRY_STATUS(made->put(spec.ram_path, jail::kRam));
    return made;
  }
  HARENA_TRY_STATUS(made->put(spec.kernel, jail::kKernel));
  HARENA_TRY_STATUS(made->put(spec.initramfs, jail::kInitramfs));
  return made;
}

FirecrackerJail::~FirecrackerJail() {
  if (auto parent = open_directory(AT_FDCWD, fs::path(base_).parent_path()); parent.ok()) (void)remove_tree_at(parent->get(), file_name(base_));
}

Result<UniqueFd> FirecrackerJail::open() const { return open_directory(AT_FDCWD, root_); }

Status FirecrackerJail::put(const std::string& from, const std::string& name) const {
  struct stat status{};
  if (::stat(from.c_str(), &status) != 0) return errno_error(errno, "looking at " + from);
  const std::string real = fs::canonical(from).string();  // /boot/vmlinuz may be a link
  if ((status.st_mode & S_IROTH) != 0 && (status.st_mode & S_IWOTH) == 0) return link_or_copy(real, inside(name));
  HARENA_TRY_STATUS(clone_file(real, inside(name)));
  return own(inside(name), uid_, 0400);
}

Status FirecrackerJail::take(const std::string& name, const std::string& to) const {
  const std::string from = inside(name);
  UniqueFd file(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  const bool good = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
  if (!good) return make_error(ErrorCode::data_loss, "Firecracker has made no plain file " + name);
  if (::fchown(file.get(), 0, 0) != 0 || ::fchmod(file.get(), 0444) != 0) return errno_error(errno, "taking " + from);
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  if (errno != EXDEV) return errno_error(errno, "moving " + from);
  HARENA_TRY_STATUS(link_or_copy(from, to));
  return ::unlink(from.c_str()) == 0 ? Status() : Status(errno_error(errno, "removing " + from));
}

Result<std::string> FirecrackerJail::drive_serial(const std::string& name) const {
  struct stat status{};
  if (::stat(inside(name).c_str(), &status) != 0) return errno_error(errno, "looking at a disk");
  constexpr std::size_t kMostBytes = 20;  // VIRTIO_BLK_ID_BYTES
  return (std::to_string(status.st_dev) + std::to_string(status.st_rdev) + std::to_string(status.st_ino)).substr(0, kMostBytes);
}

std::vector<std::string> FirecrackerJail::arguments(const VmmSpec& spec) const {
  const std::string user = std::to_string(spec.uid);
  return {spec.jailer, "--id", kId, "--exec-file", spec.program, "--uid", user, "--gid", user, "--chroot-base-dir", base_, "--resource-limit", kFiles,
          "--", "--api-sock", std::string("/") + jail::kApiSocket};
}

Result<FirecrackerJail::Process> FirecrackerJail::start(const VmmSpec& spec, int console, int log) const {
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  int ends[2];
  if (!null || ::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "preparing a VMM's start");
  UniqueFd theirs(ends[0]);
  Process process{-1, UniqueFd(), UniqueFd(ends[1])};
  const auto words = arguments(spec);
  std::vector<char*> argv;
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const Launch launch{std::move(argv), spec.group_files, spec.uid, console, log, null.get(), theirs.get()};
  // As fork(2) without its handlers; the jailer makes the mount namespace itself.
  const long pid = ::syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid < 0) return errno_error(errno, "clone of a VMM");
  if (pid == 0) {
    process.lifeline.reset();
    keep(launch);
  }
  process.keeper = static_cast<pid_t>(pid);
  process.pidfd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, process.keeper, 0)));
  if (process.pidfd) return process;
  const int why = errno;
  ::kill(process.keeper, SIGKILL);
  ::waitpid(process.keeper, nullptr, 0);
  return errno_error(why, "pidfd_open");
}

}  // namespace harena::microvm
