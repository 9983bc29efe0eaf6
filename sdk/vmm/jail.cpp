#include "sdk/vmm/jail.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "sdk/base/unique_fd.hpp"

namespace harena::vmm {
namespace {

namespace fs = std::filesystem;

constexpr rlim_t kOpenFiles = 512;
constexpr unsigned long kReadOnly = MS_RDONLY | MS_NOSUID;
/// Where the child puts descriptors aside before it numbers them: above all that are passed.
constexpr int kAsideFd = kFirstPassedFd + static_cast<int>(kMostPassedFds);

Status bind_mount(const std::string& from, const std::string& to, unsigned long flags) {
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return errno_error(errno, "binding " + from + " into a VMM's root");
  }
  if (::mount(nullptr, to.c_str(), nullptr, MS_BIND | MS_REMOUNT | flags, nullptr) != 0) return errno_error(errno, "restricting " + to);
  return {};
}

Status bind_file(const std::string& from, const std::string& to, unsigned long flags) {
  UniqueFd file(::open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file) return errno_error(errno, "making " + to);
  return bind_mount(from, to, flags);
}

Status bind_folder(const std::string& root, const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  std::error_code failed;
  fs::create_directories(root + fs::path(path).parent_path().string(), failed);
  if (S_ISLNK(status.st_mode)) {  // /lib -> usr/lib
    fs::copy_symlink(path, root + path, failed);
    return failed ? Status(errno_error(failed.value(), "copying the link " + path)) : Status();
  }
  fs::create_directories(root + path, failed);
  return bind_mount(path, root + path, kReadOnly | MS_NODEV);
}

Status make_devices(const std::string& root, const std::vector<std::string>& more) {
  if (::mkdir((root + "/dev").c_str(), 0755) != 0) return errno_error(errno, "making /dev of a VMM's root");
  std::vector<std::string> names = {"null", "zero", "urandom", "random"};
  names.insert(names.end(), more.begin(), more.end());
  for (const auto& name : names) HARENA_TRY_STATUS(bind_file("/dev/" + name, root + "/dev/" + name, MS_NOSUID | MS_NOEXEC));
  return {};
}

Status make_folders(const JailSpec& spec) {
  const std::string& root = spec.root_dir;
  for (const auto& path : spec.folders) {
    if (fs::is_regular_file(path)) {
      std::error_code failed;
      fs::create_directories(root + fs::path(path).parent_path().string(), failed);
      HARENA_TRY_STATUS(bind_file(path, root + path, kReadOnly));
    } else if (!fs::exists(root + path)) {
      HARENA_TRY_STATUS(bind_folder(root, path));
    }
  }
  return {};
}

Status make_root(const JailSpec& spec) {
  const std::string& root = spec.root_dir;
  ::umask(022);  // its user looks at folders that root makes here
  // Nothing that is mounted here is seen outside, and nothing of outside arrives.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno_error(errno, "making mounts private");
  if (::mount("vmm", root.c_str(), "tmpfs", MS_NOSUID, "size=1m,mode=0755") != 0) return errno_error(errno, "mounting a VMM's root");
  HARENA_TRY_STATUS(make_folders(spec));
  std::error_code failed;
  fs::create_directories(root + fs::path(spec.program).parent_path().string(), failed);
  HARENA_TRY_STATUS(bind_file(spec.program, root + spec.program, kReadOnly | MS_NODEV));
  HARENA_TRY_STATUS(make_devices(root, spec.devices));
  for (const auto& file : spec.files) {
    unsigned long flags = MS_NOSUID | MS_NODEV;
    if (!file.executable) flags |= MS_NOEXEC;
    if (!file.writable) flags |= MS_RDONLY;
    HARENA_TRY_STATUS(bind_file(file.from, root + file.to, flags));
  }
  return {};
}

Status change_root(const std::string& root) {
  if (::chdir(root.c_str()) != 0) return errno_error(errno, "entering a VMM's root");
  // pivot_root(".", "."): the old root lies over the new one and is taken away (pivot_root(2), "new_root and put_old may be the same").
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return errno_error(errno, "pivot_root");
  if (::umount2(".", MNT_DETACH) != 0) return errno_error(errno, "leaving the host's root");
  if (::mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, nullptr) != 0) {
    return errno_error(errno, "closing a VMM's root");
  }
  return ::chdir("/") == 0 ? Status() : Status(errno_error(errno, "chdir"));
}

Status set_limit(__rlimit_resource which, rlim_t value) {
  const rlimit limit{value, value};
  return ::setrlimit(which, &limit) == 0 ? Status() : Status(errno_error(errno, "setrlimit"));
}

[[noreturn]] void child_fails(const Error& error) {
  const std::string text = error.describe() + "\n";
  (void)!::write(2, text.data(), text.size());
  ::_exit(127);
}

/// dup2 to the numbers that the command line names; nothing else outlives the exec, wherever it came from.
void number_descriptors(const std::vector<int>& passed) {
  std::vector<int> aside;
  for (int fd : passed) aside.push_back(::fcntl(fd, F_DUPFD_CLOEXEC, kAsideFd));
  for (std::size_t i = 0; i < aside.size(); ++i) ::dup2(aside[i], kFirstPassedFd + static_cast<int>(i));
  ::syscall(SYS_close_range, static_cast<unsigned>(kFirstPassedFd + aside.size()), ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
}

}  // namespace

std::vector<std::string> qemu_folders() {
  return {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/qemu", "/usr/share/seabios", "/etc/ld.so.cache"};
}

Status enter_jail(const JailSpec& spec) {
  if (::unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0) return errno_error(errno, "unshare for a VMM");
  HARENA_TRY_STATUS(make_root(spec));
  return change_root(spec.root_dir);
}

Status drop_rights(const JailSpec& spec, pid_t parent) {
  for (int group : spec.group_files) {
    if (::write(group, "0", 1) != 1) return errno_error(errno, "joining a cgroup");
  }
  HARENA_TRY_STATUS(set_limit(RLIMIT_CORE, 0));
  HARENA_TRY_STATUS(set_limit(RLIMIT_NOFILE, kOpenFiles));
  HARENA_TRY_STATUS(set_limit(RLIMIT_MEMLOCK, 0));
  if (::setgroups(0, nullptr) != 0 || ::setresgid(spec.uid, spec.uid, spec.uid) != 0 || ::setresuid(spec.uid, spec.uid, spec.uid) != 0) {
    return errno_error(errno, "becoming the user of a VMM");
  }
  // After the change of user, which clears it; the parent may have died before.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno_error(errno, "prctl");
  if (::getppid() != parent) return make_error(ErrorCode::cancelled, "the machine's process ended");
  return {};
}

void exec_in_jail(const JailedProgram& program) {
  ::setsid();
  ::dup2(program.null, 0);
  ::dup2(program.log, 1);
  ::dup2(program.log, 2);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (Status jailed = enter_jail(program.jail); !jailed.ok()) child_fails(jailed.error());
  if (Status dropped = drop_rights(program.jail, program.parent); !dropped.ok()) child_fails(dropped.error());
  number_descriptors(program.passed);
  const std::string& file = program.jail.program;
  std::vector<char*> argv = {const_cast<char*>(file.c_str())};
  for (const auto& argument : program.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::string preload = "LD_PRELOAD=" + program.jail.preload;
  char* last = program.jail.preload.empty() ? nullptr : preload.data();
  char* environment[] = {const_cast<char*>("PATH=/nowhere"), const_cast<char*>("LC_ALL=C"), last, nullptr};
  ::execve(file.c_str(), argv.data(), environment);
  child_fails(errno_error(errno, "executing " + file));
}

}  // namespace harena::vmm
