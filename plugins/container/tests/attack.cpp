// Tiny attacks, one a rule, run as root inside a sandbox: `attack NAME` prints the errno that the kernel answered, or 0.

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <string>

namespace {

long command(unsigned long request) {
  static char argument[4096];
  const int fd = ::open("/tmp", O_RDONLY);
  return ::ioctl(fd, request, argument);
}

long clone_with(unsigned long flags) {
  const long pid = ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) ::_exit(0);
  if (pid > 0) ::waitpid(static_cast<pid_t>(pid), nullptr, 0);
  return pid < 0 ? pid : 0;
}

long clone3_plain() {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) ::_exit(0);
  return pid;
}

const std::map<std::string, std::function<long()>> kAttacks = {
    {"xfs_swapext", [] { return command(0xc0c0586d); }},
    {"xfs_swapext_other_size", [] { return command(0x4008586d); }},
    {"xfs_exchange_range", [] { return command(0x40285881); }},
    {"ext4_move_extent", [] { return command(0xc028660f); }},
    {"ext4_resize", [] { return command(0x40086610); }},
    {"set_immutable", [] { return command(0x40086602); }},
    {"set_project", [] { return command(0x401c5820); }},
    {"freeze", [] { return command(0xc0045877); }},
    {"thaw", [] { return command(0xc0045878); }},
    {"get_flags", [] { return command(0x80086601); }},
    {"terminal_push", [] { return static_cast<long>(::ioctl(0, TIOCSTI, "x")); }},
    // The kernel reads 32 bits of the command: a filter that compares 64 lets this one through.
    {"terminal_push_high_bits", [] { return ::syscall(SYS_ioctl, 0, 0x100005412UL, "x"); }},
    {"open_by_handle", [] { return ::syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, O_RDONLY); }},
    {"mount_tmpfs", [] { return static_cast<long>(::mount("x", "/tmp", "tmpfs", 0, nullptr)); }},
    {"mount_proc", [] { return static_cast<long>(::mount("proc", "/tmp", "proc", 0, nullptr)); }},
    {"uncover_proc_sys", [] { return static_cast<long>(::umount2("/proc/sys", MNT_DETACH)); }},
    {"fsopen", [] { return ::syscall(SYS_fsopen, "tmpfs", 0); }},
    {"bpf", [] { bpf_attr attr{}; return ::syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr); }},
    {"keyctl", [] { return ::syscall(SYS_keyctl, 0, -3, 0); }},
    {"add_key", [] { return ::syscall(SYS_add_key, "user", "x", "y", 1, -3); }},
    {"userfaultfd", [] { return ::syscall(SYS_userfaultfd, 1); }},
    {"io_uring", [] { char p[256] = {}; return ::syscall(SYS_io_uring_setup, 1, p); }},
    {"perf", [] { char a[256] = {}; return ::syscall(SYS_perf_event_open, a, 0, -1, -1, 0); }},
    {"kexec", [] { return ::syscall(SYS_kexec_load, 0, 0, nullptr, 0); }},
    {"module", [] { return ::syscall(SYS_init_module, nullptr, 0, ""); }},
    {"unshare_user", [] { return static_cast<long>(::unshare(CLONE_NEWUSER)); }},
    {"unshare_time", [] { return ::syscall(SYS_unshare, 0x80); }},
    {"clone_user", [] { return clone_with(CLONE_NEWUSER); }},
    {"clone_net", [] { return clone_with(CLONE_NEWNET); }},
    {"clone_plain", [] { return clone_with(0); }},
    {"clone3", [] { return clone3_plain(); }},
    {"vsock", [] { return static_cast<long>(::socket(40, SOCK_STREAM, 0)); }},
    {"alg", [] { return static_cast<long>(::socket(38, SOCK_SEQPACKET, 0)); }},
    {"raw_socket", [] { return static_cast<long>(::socket(AF_INET, SOCK_RAW, 1)); }},
    {"inet_socket", [] { return static_cast<long>(::socket(AF_INET, SOCK_STREAM, 0)); }},
    {"trace_init", [] { return ::ptrace(PTRACE_ATTACH, 1, nullptr, nullptr); }},
    {"enter_init", [] { return static_cast<long>(::open("/proc/1/ns/mnt", O_RDONLY)); }},
    {"set_time", [] { timespec t{}; return static_cast<long>(::clock_settime(CLOCK_REALTIME, &t)); }},
    {"set_hostname", [] { return static_cast<long>(::sethostname("x", 1)); }},
    {"disk_node", [] { return static_cast<long>(::mknod("/tmp/disk", S_IFBLK | 0600, 8 << 8)); }},
    {"trusted_xattr", [] { return ::syscall(SYS_setxattr, "/tmp", "trusted.overlay.opaque", "y", 1, 0); }},
    {"i386_call", [] {
       long answer = 0;
#if defined(__x86_64__)
       __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20) : "memory");  // getpid of the other ABI
       if (answer < 0) { errno = static_cast<int>(-answer); answer = -1; }
#endif
       return answer;
     }},
    {"x32_call", [] { return ::syscall(0x40000000 | 39); }},
    {"unknown_call", [] { return ::syscall(9999); }},
};

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    auto attack = kAttacks.find(argv[i]);
    if (attack == kAttacks.end()) return 2;
    errno = 0;
    const long answer = attack->second();
    std::printf("%s=%d\n", argv[i], answer < 0 ? errno : 0);
  }
  return 0;
}
