// Row 5: XFS_IOC_SWAPEXT shut a file system down; its relatives, and what else of the kernel no agent needs. The filter has to answer
// before the file system does: the same EPERM on every file system, also where the call means nothing.

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/quota.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "tests/incidents/attacks/attack.hpp"

namespace harena::incidents {
namespace {

struct Command {
  const char* rule;
  unsigned long number;
};
constexpr Command kCommands[] = {
    {"xfs_swapext", 0xc0c0586d}, {"xfs_swapext_32bit", 0xc0b8586d}, {"xfs_growfs", 0x4010586e}, {"xfs_goingdown", 0x8004587d},
    {"xfs_scrub", 0xc040583c}, {"xfs_exchange_range", 0x40285881}, {"xfs_start_commit", 0x80585882}, {"xfs_commit_range", 0x40585883},
    {"xfs_open_by_handle", 0xc030586c}, {"setflags", 0x40086602}, {"setflags_32bit", 0x40046602}, {"fssetxattr", 0x401c5820},
    {"setversion", 0x40087602}, {"ext4_move_extent", 0xc028660f}, {"ext4_resize", 0x40086610}, {"ext4_group_extend", 0x40086607},
    {"ext4_group_add", 0x40286608}, {"ext4_swap_boot", 0x6611}, {"ext4_set_uuid", 0x4008662c}, {"fifreeze", 0xc0045877},
    {"fithaw", 0xc0045878}, {"fitrim", 0xc0185879}, {"enable_verity", 0x40806685}, {"set_encryption", 0x800c6613},
    {"btrfs_snap_create", 0x50009401}, {"btrfs_subvol_flags", 0x4008941a}, {"btrfs_defrag", 0x50009402}};

void try_commands(Report& report) {
  static std::array<char, 16384> argument;
  const int fd = ::open("/tmp", O_RDONLY);
  for (const auto& command : kCommands) report.refused(command.rule, ::ioctl(fd, command.number, argument.data()), {EPERM});
  // The kernel reads 32 bits of the command: a filter that compares 64 lets these through.
  report.refused("xfs_swapext_high_bits", ::syscall(SYS_ioctl, fd, 0x1c0c0586dUL, argument.data()), {EPERM});
  report.refused("terminal_push", ::ioctl(0, 0x5412, "x"), {EPERM});
  report.refused("terminal_push_high_bits", ::syscall(SYS_ioctl, 0, 0x100005412UL, "x"), {EPERM});
  report.refused("console", ::ioctl(0, 0x541d, 0), {EPERM});
  ::close(fd);
}

void try_files(Report& report) {
  report.refused("open_by_handle_at", ::syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, O_RDONLY), {EPERM});
  report.refused("file_setattr", ::syscall(469, AT_FDCWD, "/tmp", nullptr, 0, 0), {EPERM});
  report.refused("quotactl", ::syscall(SYS_quotactl, 0, nullptr, 0, nullptr), {EPERM});
  report.refused("fanotify", ::syscall(SYS_fanotify_init, 0, 0), {EPERM});
  report.refused("block_device", ::mknod("/tmp/disk", S_IFBLK | 0600, 8 << 8), {EPERM});
  report.refused("char_device", ::mknod("/tmp/memory", S_IFCHR | 0600, (1 << 8) | 1), {EPERM});
  report.refused("trusted_xattr", ::syscall(SYS_setxattr, "/tmp", "trusted.overlay.opaque", "y", 1, 0), {EPERM});
}

void try_mounts(Report& report) {
  std::array<char, 64> zeros{};
  report.refused("mount", ::mount("x", "/tmp", "tmpfs", 0, nullptr), {EPERM});
  report.refused("mount_proc", ::mount("proc", "/tmp", "proc", 0, nullptr), {EPERM});
  report.refused("umount", ::umount2("/proc/sys", MNT_DETACH), {EPERM});
  report.refused("pivot_root", ::syscall(SYS_pivot_root, "/tmp", "/tmp"), {EPERM});
  report.refused("fsopen", ::syscall(SYS_fsopen, "tmpfs", 0), {EPERM});
  report.refused("open_tree", ::syscall(SYS_open_tree, AT_FDCWD, "/", 1), {EPERM});
  report.refused("move_mount", ::syscall(SYS_move_mount, -1, "", AT_FDCWD, "/tmp", 4), {EPERM});
  report.refused("statmount", ::syscall(457, zeros.data(), zeros.data(), zeros.size(), 0), {EPERM});
  report.refused("listmount", ::syscall(458, zeros.data(), zeros.data(), zeros.size(), 0), {EPERM});
  report.refused("mount_setattr", ::syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, nullptr, 0), {EPERM});
}

long clone_with(unsigned long flags) {
  const long pid = ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) ::_exit(0);
  if (pid > 0) ::waitpid(static_cast<pid_t>(pid), nullptr, 0);
  return pid;
}

void try_namespaces(Report& report) {
  report.refused("unshare_user", ::unshare(CLONE_NEWUSER), {EPERM});
  report.refused("unshare_mount", ::unshare(CLONE_NEWNS), {EPERM});
  report.refused("unshare_time", ::syscall(SYS_unshare, 0x80), {EPERM});
  report.refused("clone_user", clone_with(CLONE_NEWUSER), {EPERM});
  report.refused("clone_net", clone_with(CLONE_NEWNET), {EPERM});
  clone_args arguments{};
  arguments.flags = CLONE_NEWUSER;
  arguments.exit_signal = SIGCHLD;
  report.refused("clone3", ::syscall(SYS_clone3, &arguments, sizeof arguments), {ENOSYS});
  report.refused("setns", ::syscall(SYS_setns, 0, 0), {EPERM});
}

void try_kernel(Report& report) {
  bpf_attr attr{};
  std::array<char, 256> zeros{};
  report.refused("bpf", ::syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr), {EPERM});
  report.refused("keyctl", ::syscall(SYS_keyctl, 0, -3, 0), {EPERM});
  report.refused("add_key", ::syscall(SYS_add_key, "user", "x", "y", 1, -3), {EPERM});
  report.refused("request_key", ::syscall(SYS_request_key, "user", "x", nullptr, -3), {EPERM});
  report.refused("userfaultfd", ::syscall(SYS_userfaultfd, 1), {EPERM});
  report.refused("io_uring", ::syscall(SYS_io_uring_setup, 1, zeros.data()), {EPERM});
  report.refused("perf", ::syscall(SYS_perf_event_open, zeros.data(), 0, -1, -1, 0), {EPERM});
  report.refused("kexec", ::syscall(SYS_kexec_load, 0, 0, nullptr, 0), {EPERM});
#if defined(SYS_kexec_file_load)
  report.refused("kexec_file", ::syscall(SYS_kexec_file_load, -1, -1, 0, nullptr, 0), {EPERM});
#endif
  report.refused("swapon", ::syscall(SYS_swapon, "/tmp", 0), {EPERM});
  report.refused("acct", ::syscall(SYS_acct, "/tmp/acct"), {EPERM});
  report.refused("init_module", ::syscall(SYS_init_module, nullptr, 0, ""), {EPERM});
  report.refused("finit_module", ::syscall(SYS_finit_module, 0, "", 0), {EPERM});
  report.refused("delete_module", ::syscall(SYS_delete_module, "x", 0), {EPERM});
  report.refused("reboot", ::syscall(SYS_reboot, 0xfee1dead, 672274793, 0, nullptr), {EPERM});
  report.refused("alg_socket", ::socket(38 /* AF_ALG */, SOCK_SEQPACKET, 0), {EAFNOSUPPORT});
  report.refused("raw_socket", ::socket(AF_INET, SOCK_RAW, 1), {EPERM});
#if defined(__x86_64__)
  report.refused("iopl", ::syscall(SYS_iopl, 3), {EPERM});
  report.refused("x32_call", ::syscall(0x40000000 | 39), {ENOSYS});
  long answer = 0;
  __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20) : "memory");  // getpid of the other ABI
  errno = answer < 0 ? static_cast<int>(-answer) : 0;
  report.refused("i386_call", answer < 0 ? -1 : 0, {ENOSYS});
#endif
}

/// One without privilege must not trace a process of another user: root's child, or init.
void try_tracing(Report& report) {
  if (::geteuid() != 0) return report.refused("ptrace_other_user", ::syscall(SYS_ptrace, 16 /* PTRACE_ATTACH */, 1, nullptr, nullptr), {EPERM});
  const pid_t victim = ::fork();
  if (victim == 0) {
    ::pause();
    ::_exit(0);
  }
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    if (::setresuid(4242, 4242, 4242) != 0) ::_exit(100);
    const long answer = ::syscall(SYS_ptrace, 16 /* PTRACE_ATTACH */, victim, nullptr, nullptr);
    ::_exit(answer == 0 ? 0 : errno);
  }
  int status = 0;
  ::waitpid(tracer, &status, 0);
  ::kill(victim, SIGKILL);
  ::waitpid(victim, nullptr, 0);
  errno = WEXITSTATUS(status);
  report.refused("ptrace_other_user", errno == 0 ? 0 : -1, {EPERM});
}

}  // namespace

void row_5(Report& report) {
  try_commands(report);
  try_files(report);
  try_mounts(report);
  try_namespaces(report);
  try_kernel(report);
  try_tracing(report);
}

}  // namespace harena::incidents
