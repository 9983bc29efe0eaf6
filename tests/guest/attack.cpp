// What an agent with root in a microVM tries against the platform in its own machine (incidents 1 to 5). Each line of the output is
// "held NAME" or "BROKEN NAME: how"; the exit status is the number of broken ones. Alone, it knows nothing of the platform's code.
#include <dirent.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <sched.h>
#include <signal.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

int g_broken = 0;

void report(const char* name, const std::string& how) {
  if (how.empty()) {
    std::printf("held %s\n", name);
  } else {
    ++g_broken;
    std::printf("BROKEN %s: %s\n", name, how.substr(0, how.find('\n')).c_str());
  }
}

/// In a child, so that one attack's state isn't the next one's; "" for a child that says nothing.
void attack(const char* name, const std::function<std::string()>& play) {
  int ends[2];
  if (::pipe(ends) != 0) return report(name, "no pipe");
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto how = play();
    (void)!::write(ends[1], how.data(), how.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  char buffer[512];
  std::string how;
  for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;) how.append(buffer, static_cast<std::size_t>(count));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  report(name, how);
}

bool can_read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  if (fd < 0) return false;
  char byte[16];
  const bool some = ::read(fd, byte, sizeof byte) > 0;
  ::close(fd);
  return some;
}

bool can_write(const std::string& path, const char* text) {
  const int fd = ::open(path.c_str(), O_WRONLY);
  if (fd < 0) return false;
  const bool done = ::write(fd, text, std::strlen(text)) > 0;
  ::close(fd);
  return done;
}

/// A user namespace of its own, with all its capabilities, and a mount namespace in which to mount.
bool get_namespaces() { return ::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWCGROUP | CLONE_NEWIPC) == 0; }

std::string try_device(unsigned major, unsigned minor, mode_t kind, const char* what) {
  const char* path = "/tmp/device";
  ::unlink(path);
  if (::mknod(path, kind | 0600, makedev(major, minor)) != 0) return {};
  const int fd = ::open(path, O_RDWR | O_NONBLOCK);
  ::unlink(path);
  return fd >= 0 ? std::string("opened ") + what : std::string();
}

std::string kill_init() {
  ::kill(1, SIGKILL);
  ::kill(1, SIGSTOP);
  ::kill(1, SIGTERM);
  char state[256] = {};
  const int fd = ::open("/proc/1/stat", O_RDONLY);
  (void)!::read(fd, state, sizeof state - 1);
  const char* at = std::strrchr(state, ')');
  return at != nullptr && (at[2] == 'S' || at[2] == 'R') ? "" : "init isn't running any more";
}

std::string trace_init() {
  if (::ptrace(PTRACE_SEIZE, 1, nullptr, nullptr) == 0) return "seized init";
  if (::ptrace(PTRACE_ATTACH, 1, nullptr, nullptr) == 0) return "attached to init";
  char bytes[16];
  const iovec here{bytes, sizeof bytes}, there{reinterpret_cast<void*>(0x400000), sizeof bytes};
  if (::process_vm_readv(1, &here, 1, &there, 1, 0) > 0) return "read init's memory";
  return {};
}

std::string read_init() {
  for (const char* file : {"mem", "environ", "maps", "exe", "auxv", "stack", "syscall", "cwd/.", "root/etc/passwd", "fd/0", "map_files/."}) {
    if (can_read("/proc/1/" + std::string(file))) return std::string("read /proc/1/") + file;
  }
  char link[256];
  if (::readlink("/proc/1/exe", link, sizeof link) > 0) return "learned init's program";
  if (::readlink("/proc/1/fd/0", link, sizeof link) > 0) return "learned init's descriptors";
  char arguments[256] = {};
  const int fd = ::open("/proc/1/cmdline", O_RDONLY);
  (void)!::read(fd, arguments, sizeof arguments - 1);
  if (std::strcmp(arguments, "init") != 0) return "read init's arguments: " + std::string(arguments);
  return {};
}

std::string change_init() {
  if (::syscall(SYS_prlimit64, 1, 0, nullptr, nullptr) == 0) {
    // Reading isn't changing; setting is.
    const unsigned long long limit[2] = {1, 1};
    if (::syscall(SYS_prlimit64, 1, 0, limit, nullptr) == 0) return "limited init's CPU time";
  }
  if (can_write("/proc/1/oom_score_adj", "1000")) return "offered init to the OOM killer";
  const unsigned long cpus = 1;
  if (::syscall(SYS_sched_setaffinity, 1, sizeof cpus, &cpus) == 0) return "changed init's CPUs";
  if (::setpriority(PRIO_PROCESS, 1, 19) == 0) return "changed init's priority";
  return {};
}

std::string join_platform() {
  for (const char* kind : {"pid", "mnt", "net", "user", "uts", "ipc", "cgroup"}) {
    const int fd = ::open(("/proc/1/ns/" + std::string(kind)).c_str(), O_RDONLY);
    if (fd >= 0 && ::setns(fd, 0) == 0 && std::strcmp(kind, "mnt") == 0) return "joined init's mount namespace";
  }
  return {};
}

std::string open_channel() {
  // Ports of virtio consoles have a major number of their own, handed out from the top of 234..254 and 384..511.
  for (unsigned major = 229; major < 512; ++major) {
    for (unsigned minor = 0; minor < 4; ++minor) {
      if (auto how = try_device(major, minor, S_IFCHR, "a character device that wasn't given"); !how.empty()) return how;
    }
  }
  DIR* dev = ::opendir("/dev");
  for (dirent* entry; (entry = ::readdir(dev)) != nullptr;) {
    if (std::strstr(entry->d_name, "vport") != nullptr || std::strstr(entry->d_name, "hvc") != nullptr) return std::string("sees /dev/") + entry->d_name;
  }
  ::closedir(dev);
  return {};
}

std::string mount_devices() {
  if (::mount("devtmpfs", "/tmp", "devtmpfs", 0, nullptr) == 0) return "mounted devtmpfs";
  if (!get_namespaces()) return {};
  if (::mount("devtmpfs", "/tmp", "devtmpfs", 0, nullptr) == 0) return "mounted devtmpfs in a user namespace";
  return try_device(1, 1, S_IFCHR, "/dev/mem in a user namespace");
}

std::string unbind_driver() {
  // The driver taken off the port would close it for PID 1.
  const char* paths[] = {"/sys/bus/virtio/drivers/virtio_console/unbind", "/sys/bus/virtio/drivers_probe", "/sys/bus/pci/rescan"};
  for (const char* path : paths) {
    if (can_write(path, "virtio0")) return std::string("wrote ") + path;
  }
  if (::mount(nullptr, "/sys", nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0) return "made /sys writable";
  if (!get_namespaces()) return {};
  if (::mount(nullptr, "/sys", nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0) return "made /sys writable in a user namespace";
  if (::mount("sysfs", "/tmp", "sysfs", 0, nullptr) == 0 && can_write("/tmp/bus/virtio/drivers_probe", "virtio0")) return "a sysfs of its own";
  if (::umount2("/sys/bus/virtio", MNT_DETACH) == 0) return "uncovered /sys/bus/virtio";
  return {};
}

std::string read_disks() {
  for (unsigned major : {252u, 253u, 254u, 259u}) {
    for (unsigned minor = 0; minor < 64; minor += 16) {
      if (auto how = try_device(major, minor, S_IFBLK, "a disk of the machine"); !how.empty()) return how;
    }
  }
  return {};
}

std::string load_module() {
  if (::syscall(SYS_init_module, "", 0, "") == 0 || errno != EPERM) return "init_module isn't refused with EPERM";
  const int fd = ::open("/bin/busybox", O_RDONLY);
  if (::syscall(SYS_finit_module, fd, "", 0) == 0 || errno != EPERM) return "finit_module isn't refused with EPERM";
  if (::syscall(SYS_delete_module, "overlay", O_NONBLOCK) == 0) return "unloaded a module";
  return {};
}

std::string take_machine() {
  if (::syscall(SYS_kexec_load, 0, 0, nullptr, KEXEC_ARCH_DEFAULT) == 0) return "kexec_load";
  if (::iopl(3) == 0) return "iopl";
  if (::ioperm(0x3f8, 8, 1) == 0) return "ioperm";
  if (::syscall(SYS_settimeofday, nullptr, nullptr) != 0 && errno != EPERM && errno != EINVAL) return "settimeofday";
  const timespec past{1, 0};
  if (::clock_settime(CLOCK_REALTIME, &past) == 0) return "set the machine's clock";
  for (unsigned minor : {1u, 2u, 4u}) {
    if (auto how = try_device(1, minor, S_IFCHR, "the machine's memory or ports"); !how.empty()) return how;
  }
  return {};
}

std::string reboot_machine() {
  // In a pid namespace reboot ends that namespace's init, and only whoever owns the namespace may.
  if (::syscall(SYS_reboot, 0xfee1dead, 672274793, RB_POWER_OFF, nullptr) == 0) return "reboot wasn't refused";
  return errno == EPERM ? "" : "reboot: " + std::string(std::strerror(errno));
}

std::string write_kernel_settings() {
  struct Setting {
    const char* path;
    const char* text;
  };
  const Setting settings[] = {{"/proc/sys/kernel/core_pattern", "|/tmp/x"}, {"/proc/sys/kernel/modprobe", "/tmp/x"},
                              {"/proc/sys/kernel/modules_disabled", "0"},   {"/proc/sys/vm/overcommit_memory", "1"},
                              {"/proc/sysrq-trigger", "h"},                 {"/sys/power/state", "mem"},
                              {"/proc/sys/fs/binfmt_misc/register", ":x:M::x::/tmp/x:"}};
  for (const auto& setting : settings) {
    if (can_write(setting.path, setting.text)) {
      if (std::strcmp(setting.path, "/proc/sysrq-trigger") == 0) continue;  // a null device is bound there
      return std::string("wrote ") + setting.path;
    }
  }
  if (!get_namespaces()) return {};
  if (::mount(nullptr, "/proc/sys", nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0) return "made /proc/sys writable";
  if (::umount2("/proc/sys", MNT_DETACH) == 0) return "uncovered /proc/sys";
  return {};
}

std::string leave_limits() {
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/cgroup.freeze"}) {
    if (can_write(path, "max")) return std::string("wrote ") + path;
  }
  if (!get_namespaces() || ::mount("cgroup2", "/tmp", "cgroup2", 0, nullptr) != 0) return {};
  for (const char* file : {"/tmp/memory.max", "/tmp/pids.max", "/tmp/../memory.max"}) {
    if (can_write(file, "max")) return std::string("wrote ") + file + " of a cgroup tree of its own";
  }
  if (can_write("/tmp/cgroup.procs", "1")) return "moved a process";
  return {};
}

/// Up and out by the oldest trick, and what lies under the root.
std::string leave_root() {
  ::mkdir("/tmp/jail", 0700);
  const int up = ::open("/", O_RDONLY | O_DIRECTORY);
  if (::chroot("/tmp/jail") == 0) {
    (void)!::fchdir(up);
    for (int i = 0; i < 64; ++i) (void)!::chdir("..");
    (void)!::chroot(".");
  }
  for (const char* path : {"/init", "/bin/harena-shim", "/modules.list", "/run/disk/session", "/run/shim.sock", "/run/root"}) {
    if (::access(path, F_OK) == 0) return std::string("sees ") + path;
  }
  ::umount2("/", MNT_DETACH);
  return ::access("/modules.list", F_OK) == 0 ? "saw the initramfs under its root" : "";
}

std::string find_platform() {
  FILE* mounts = ::fopen("/proc/self/mountinfo", "r");
  char line[4096];
  while (mounts != nullptr && ::fgets(line, sizeof line, mounts) != nullptr) {
    for (const char* word : {"harena", "/run/disk", "/run/build", "/dev/vd", "session"}) {
      if (std::strstr(line, word) != nullptr) return std::string("mountinfo names ") + word + ": " + line;
    }
  }
  DIR* proc = ::opendir("/proc");
  for (dirent* entry; (entry = ::readdir(proc)) != nullptr;) {
    const std::string comm = "/proc/" + std::string(entry->d_name) + "/comm";
    FILE* file = entry->d_name[0] >= '0' && entry->d_name[0] <= '9' ? ::fopen(comm.c_str(), "r") : nullptr;
    if (file != nullptr && ::fgets(line, sizeof line, file) != nullptr && std::strncmp(line, "harena", 6) == 0) return "sees a process " + std::string(line);
    if (file != nullptr) ::fclose(file);
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strstr(*variable, "HARENA") != nullptr) return std::string("environment: ") + *variable;
  }
  return {};
}

std::string own_descriptors() {
  for (int fd = 3; fd < 1024; ++fd) {
    // 3 may be the pipe of this attack itself, and its other end.
    struct stat info{};
    if (::fstat(fd, &info) == 0 && !S_ISFIFO(info.st_mode)) return "has descriptor " + std::to_string(fd);
  }
  return {};
}

std::string forge_session() {
  // An abstract socket, a path that the platform uses, vsock: nothing answers.
  for (const char* path : {"/run/shim.sock", "/run/disk/session/session.sock"}) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return std::string("connected to ") + path;
  }
  FILE* sockets = ::fopen("/proc/net/unix", "r");
  char line[512];
  while (sockets != nullptr && ::fgets(line, sizeof line, sockets) != nullptr) {
    if (std::strstr(line, "shim") != nullptr) return "sees the platform's socket";
  }
  return {};
}

std::string replace_tools() {
  if (::access("/dev/trusted/sh", X_OK) != 0) return "there are no trusted tools";
  if (can_read("/dev/trusted/busybox")) return "read a trusted tool";
  if (::open("/dev/trusted/sh", O_WRONLY) >= 0) return "opened a trusted tool for writing";
  if (::unlink("/dev/trusted/sh") == 0) return "removed a trusted tool";
  if (::mount("/bin", "/dev/trusted", nullptr, MS_BIND, nullptr) == 0) return "covered the trusted tools";
  return {};
}

std::string kernel_secrets() {
  for (const char* path : {"/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/proc/iomem", "/proc/modules", "/proc/cmdline", "/proc/vmallocinfo",
                           "/sys/firmware/acpi/tables/DSDT", "/sys/kernel/debug/.", "/sys/module/virtio/refcnt"}) {
    if (can_read(path)) return std::string("read ") + path;
  }
  char buffer[64];
  return ::syscall(SYS_syslog, 3, buffer, sizeof buffer) > 0 ? "read the kernel's log" : "";
}

/// Incidents 5 and 9: what the filter keeps from the machine's kernel, by number and by argument. All have wrong arguments, so that what isn't
/// filtered says so by another error.
struct FilteredCall {
  const char* name;
  int error;
  std::function<long()> make;
};

std::string expect_errors(const std::vector<FilteredCall>& calls) {
  for (const auto& call : calls) {
    errno = 0;
    if (call.make() >= 0) return std::string(call.name) + " was done";
    if (errno != call.error) return std::string(call.name) + ": " + std::strerror(errno);
  }
  return {};
}

std::string shut_down_file_system() {
  const int file = ::open("/etc/passwd", O_RDONLY);
  if (file < 0) return "no file to try it on";
  const auto command = [file](unsigned long number) { return [file, number] { return ::syscall(SYS_ioctl, file, number, nullptr); }; };
  return expect_errors({{"XFS_IOC_SWAPEXT", EPERM, command(0xC0C0586D)},      {"exchange-range", EPERM, command(0x40285881)},
                        {"EXT4_IOC_MOVE_EXT", EPERM, command(0xC028660F)},    {"EXT4_IOC_RESIZE_FS", EPERM, command(0x40086610)},
                        {"EXT4_IOC_SHUTDOWN", EPERM, command(0x8004587D)},    {"FIFREEZE", EPERM, command(0xC0045877)},
                        {"FS_IOC_SETFLAGS", EPERM, command(0x40086602)},      {"FS_IOC_FSSETXATTR", EPERM, command(0x401C5820)},
                        {"BTRFS_IOC_RESIZE", EPERM, command(0x50009403)},     {"with high bits", EPERM, command(0x1C0C0586DUL)},
                        {"open_by_handle_at", EPERM, [] { return ::syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, O_RDONLY); }}});
}

std::string enter_kernel() {
  return expect_errors({{"bpf", EPERM, [] { return ::syscall(SYS_bpf, -1, nullptr, 0); }},
                        {"keyctl", EPERM, [] { return ::syscall(SYS_keyctl, -1, 0, 0); }},
                        {"add_key", EPERM, [] { return ::syscall(SYS_add_key, nullptr, nullptr, nullptr, 0, 0); }},
                        {"userfaultfd", EPERM, [] { return ::syscall(SYS_userfaultfd, -1); }},
                        {"io_uring_setup", EPERM, [] { return ::syscall(SYS_io_uring_setup, 0, nullptr); }},
                        {"perf_event_open", EPERM, [] { return ::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); }},
                        {"fanotify_init", EPERM, [] { return ::syscall(SYS_fanotify_init, -1, -1); }},
                        {"x32's numbers", ENOSYS, [] { return ::syscall(SYS_getpid | 0x40000000); }},
                        {"a number that isn't known", ENOSYS, [] { return ::syscall(1000); }}});
}

/// vsock leads to the hypervisor, and to the port of PID 1 by the loopback address.
std::string call_hypervisor() {
  return expect_errors({{"AF_VSOCK", EAFNOSUPPORT, [] { return long{::socket(40, SOCK_STREAM, 0)}; }},
                        {"AF_VSOCK in pairs", EAFNOSUPPORT, [] { return ::syscall(SYS_socketpair, 40, SOCK_STREAM, 0, nullptr); }},
                        {"AF_ALG", EAFNOSUPPORT, [] { return long{::socket(AF_ALG, SOCK_SEQPACKET, 0)}; }}});
}

}  // namespace

int main() {
  attack("kill-init", kill_init);
  attack("trace-init", trace_init);
  attack("read-init", read_init);
  attack("change-init", change_init);
  attack("join-platform", join_platform);
  attack("open-channel", open_channel);
  attack("mount-devices", mount_devices);
  attack("unbind-driver", unbind_driver);
  attack("read-disks", read_disks);
  attack("load-module", load_module);
  attack("take-machine", take_machine);
  attack("reboot-machine", reboot_machine);
  attack("write-kernel-settings", write_kernel_settings);
  attack("leave-limits", leave_limits);
  attack("leave-root", leave_root);
  attack("find-platform", find_platform);
  attack("own-descriptors", own_descriptors);
  attack("forge-session", forge_session);
  attack("replace-tools", replace_tools);
  attack("kernel-secrets", kernel_secrets);
  attack("shut-down-file-system", shut_down_file_system);
  attack("enter-kernel", enter_kernel);
  attack("call-hypervisor", call_hypervisor);
  return g_broken;
}
