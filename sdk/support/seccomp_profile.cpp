#include "sdk/support/seccomp_profile.hpp"

#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>

namespace harena {
namespace {

// Numbers from 424 on are the same everywhere; those that the oldest supported headers (Linux 6.1) lack are spelled out.
constexpr unsigned kAllowed[] = {
    // files
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev, SYS_preadv2, SYS_pwritev2,
    SYS_openat, SYS_openat2, SYS_close, SYS_close_range, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs,
    SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_fchdir, SYS_chroot, SYS_umask, SYS_mkdirat, SYS_mknodat, SYS_unlinkat, SYS_renameat2,
    SYS_linkat, SYS_symlinkat, SYS_readlinkat, SYS_faccessat, SYS_faccessat2, SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat,
    SYS_utimensat, SYS_truncate, SYS_ftruncate, SYS_fallocate, SYS_fadvise64, SYS_readahead, SYS_fsync, SYS_fdatasync, SYS_sync,
    SYS_syncfs, SYS_sync_file_range, SYS_flock, SYS_fcntl, SYS_dup, SYS_dup3, SYS_pipe2, SYS_sendfile, SYS_splice, SYS_tee, SYS_vmsplice,
    SYS_copy_file_range, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_listxattr,
    SYS_llistxattr, SYS_flistxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_inotify_init1, SYS_inotify_add_watch,
    SYS_inotify_rm_watch, SYS_memfd_create, SYS_name_to_handle_at,
    451 /* cachestat */, 452 /* fchmodat2 */, 463 /* setxattrat */, 464 /* getxattrat */, 465 /* listxattrat */,
    466 /* removexattrat */, 468 /* file_getattr */,
    // waiting
    SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_eventfd2, SYS_signalfd4,
    SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime, SYS_io_setup, SYS_io_destroy, SYS_io_submit, SYS_io_cancel,
    SYS_io_getevents, SYS_io_pgetevents,
    // memory
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_msync, SYS_madvise, SYS_process_madvise, SYS_mincore, SYS_mlock,
    SYS_mlock2, SYS_munlock, SYS_mlockall, SYS_munlockall, SYS_remap_file_pages, SYS_pkey_mprotect, SYS_pkey_alloc, SYS_pkey_free,
    SYS_membarrier, SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_process_mrelease, 447 /* memfd_secret */,
    450 /* set_mempolicy_home_node */, 453 /* map_shadow_stack */, 462 /* mseal */,
    // processes, threads, signals
    SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getpgid,
    SYS_setpgid, SYS_getsid, SYS_setsid, SYS_kill, SYS_tkill, SYS_tgkill, SYS_pidfd_open, SYS_pidfd_getfd, SYS_pidfd_send_signal,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigpending, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_rt_sigreturn,
    SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_sigaltstack, SYS_restart_syscall, SYS_futex, SYS_futex_waitv, SYS_set_robust_list,
    SYS_get_robust_list, SYS_set_tid_address, SYS_rseq, SYS_sched_yield, SYS_sched_setparam, SYS_sched_getparam,
    SYS_sched_setscheduler, SYS_sched_getscheduler, SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_sched_rr_get_interval,
    SYS_sched_setaffinity, SYS_sched_getaffinity, SYS_sched_setattr, SYS_sched_getattr, SYS_getpriority, SYS_setpriority,
    SYS_ioprio_get, SYS_ioprio_set, SYS_getrlimit, SYS_setrlimit, SYS_prlimit64, SYS_getrusage, SYS_times, SYS_prctl, SYS_personality,
    SYS_capget, SYS_capset, SYS_seccomp, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_landlock_create_ruleset,
    SYS_landlock_add_rule, SYS_landlock_restrict_self, SYS_getcpu, SYS_rseq,
    454 /* futex_wake */, 455 /* futex_wait */, 456 /* futex_requeue */, 459 /* lsm_get_self_attr */, 461 /* lsm_list_modules */,
    // users
    SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getgroups, SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid,
    SYS_getresuid, SYS_setresgid, SYS_getresgid, SYS_setfsuid, SYS_setfsgid, SYS_setgroups,
    // time
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_getitimer, SYS_setitimer,
    SYS_timer_create, SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete,
    // sockets (socket and socketpair are below)
    SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_connect, SYS_getsockname, SYS_getpeername, SYS_sendto, SYS_recvfrom,
    SYS_sendmsg, SYS_recvmsg, SYS_sendmmsg, SYS_recvmmsg, SYS_setsockopt, SYS_getsockopt, SYS_shutdown,
    // System V and POSIX IPC, in a namespace of its own
    SYS_shmget, SYS_shmat, SYS_shmdt, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv,
    SYS_msgctl, SYS_mq_open, SYS_mq_unlink, SYS_mq_timedsend, SYS_mq_timedreceive, SYS_mq_notify, SYS_mq_getsetattr,
    // the machine
    SYS_uname, SYS_sysinfo, SYS_getrandom,
#if defined(__x86_64__)
    SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_getdents, SYS_mkdir, SYS_rmdir, SYS_mknod, SYS_unlink, SYS_rename, SYS_renameat,
    SYS_link, SYS_symlink, SYS_readlink, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat, SYS_dup2, SYS_pipe, SYS_poll,
    SYS_select, SYS_epoll_create, SYS_epoll_wait, SYS_eventfd, SYS_signalfd, SYS_inotify_init, SYS_fork, SYS_vfork, SYS_getpgrp,
    SYS_alarm, SYS_pause, SYS_time, SYS_arch_prctl, SYS_modify_ldt,
#endif
};

// Known and refused: EPERM tells more than "not implemented".
constexpr unsigned kRefused[] = {
    // doors around paths and attributes that the file system protects
    SYS_open_by_handle_at, 469 /* file_setattr */, SYS_fanotify_init, SYS_fanotify_mark, SYS_quotactl, SYS_quotactl_fd,
    // the kernel's own programs, keys, memory and counters
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_add_key,
    SYS_request_key, SYS_keyctl, SYS_kexec_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_syslog, SYS_acct,
    SYS_lookup_dcookie, 460 /* lsm_set_self_attr */,
    // the machine
    SYS_reboot, SYS_swapon, SYS_swapoff, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime,
    SYS_adjtimex, SYS_vhangup, SYS_move_pages, SYS_migrate_pages,
#if defined(__x86_64__)
    SYS_kexec_file_load, SYS_iopl, SYS_ioperm, SYS_ustat, SYS_sysfs, SYS_uselib,
#endif
};

/// The tree of mounts, other namespaces and what is named in them.
constexpr unsigned kNamespaceCalls[] = {
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
    SYS_mount_setattr, SYS_setns, 457 /* statmount */, 458 /* listmount */, 467 /* open_tree_attr */,
    SYS_sethostname, SYS_setdomainname,
};

/// Commands by type and number only: size and direction are in the other half of the word and vary by file system.
constexpr ArgumentRefusal by_type(char type, unsigned number) {
  return {1, 0xFFFF, static_cast<std::uint32_t>(static_cast<unsigned char>(type)) << 8 | number, EPERM};
}
constexpr ArgumentRefusal whole(std::uint32_t command) { return {1, 0xFFFFFFFF, command, EPERM}; }

constexpr ArgumentRefusal kRefusedIoctls[] = {
    // writing into another's terminal, and line disciplines (they load modules)
    whole(0x5412 /* TIOCSTI */), whole(0x541C /* TIOCLINUX */), whole(0x541D /* TIOCCONS */), whole(0x5423 /* TIOCSETD */),
    // generations of inodes
    by_type('v', 2 /* FS_IOC_SETVERSION */),
};

/// Commands of file systems, by type. What is listed reads something harmless or copies; everything else of the type is refused, known
/// or not: flags that make files immutable, project ids (they evade quotas), extents moved or exchanged (XFS_IOC_SWAPEXT shut a file
/// system down: incidents row 5), file systems frozen, trimmed, grown or shut down, subvolumes, encryption keys, handles.
struct CommandFamily {
  unsigned type;
  std::initializer_list<unsigned> allowed;
};
const CommandFamily kFileSystemCommands[] = {
    {'f', {1 /* FS_IOC_GETFLAGS */, 11 /* FIEMAP */, 21 /* GET_ENCRYPTION_POLICY */, 22 /* the same, extended */, 134 /* MEASURE_VERITY */}},
    {'X', {30 /* XFS_IOC_DIOINFO */, 31 /* FS_IOC_FSGETXATTR */, 38 /* XFS_IOC_GETBMAP */, 56 /* XFS_IOC_GETBMAPX */}},
    {0x94 /* Btrfs, and what others took from it */, {9 /* FICLONE */, 13 /* FICLONERANGE */, 54 /* FIDEDUPERANGE */}},
    {0xF5 /* F2FS */, {}},
    {0xBC /* bcachefs */, {}},
};

/// All numbers of [first, first + size) but the allowed ones, in as few masked comparisons as there are binary blocks.
void refuse_block(const CommandFamily& family, unsigned first, unsigned size, std::vector<ArgumentRefusal>& refusals) {
  const bool whole = std::none_of(family.allowed.begin(), family.allowed.end(), [&](unsigned n) { return n >= first && n < first + size; });
  if (whole) {
    refusals.push_back({1, 0xFF00u | (0xFFu & ~(size - 1)), family.type << 8 | first, EPERM});
  } else if (size > 1) {
    refuse_block(family, first, size / 2, refusals);
    refuse_block(family, first + size / 2, size / 2, refusals);
  }
}

void limit_commands(SeccompProgram& program) {
  std::vector<ArgumentRefusal> refusals(std::begin(kRefusedIoctls), std::end(kRefusedIoctls));
  for (const auto& family : kFileSystemCommands) refuse_block(family, 0, 256, refusals);
  program.allow_unless(SYS_ioctl, refusals);
}

constexpr std::uint32_t kNewNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr std::uint32_t kCloneNewTime = 0x80;  // for unshare; in clone's flags these bits are the exit signal

/// Families that lead to the outside by the network's rules alone. AF_VSOCK reaches the hypervisor, AF_ALG and the rest
/// are kernel code that nobody here needs.
void limit_sockets(SeccompProgram& program) {
  constexpr unsigned kFamilies[] = {0 /* UNSPEC */, 1 /* UNIX */, 2 /* INET */, 10 /* INET6 */, 16 /* NETLINK */, 17 /* PACKET */};
  constexpr unsigned kLastFamily = 63;  // Linux 6.18 has 46
  std::vector<ArgumentRefusal> refusals;
  for (unsigned family = 0; family <= kLastFamily; ++family) {
    bool allowed = false;
    for (unsigned known : kFamilies) allowed = allowed || known == family;
    if (!allowed) refusals.push_back({0, 0xFFFFFFFF, family, EAFNOSUPPORT});
  }
  program.allow_unless(SYS_socket, refusals);
  program.allow_unless(SYS_socketpair, refusals);
}

void limit_namespaces(SeccompProgram& program, SeccompScope scope) {
  if (scope == SeccompScope::machine) {
    for (unsigned number : kNamespaceCalls) program.allow(number);
    for (unsigned number : {SYS_clone, SYS_clone3, SYS_unshare}) program.allow(number);
    return;
  }
  for (unsigned number : kNamespaceCalls) program.refuse(number, EPERM);
  program.allow_unless(SYS_clone, BitsRefusal{0, kNewNamespaces, EPERM});
  program.allow_unless(SYS_unshare, BitsRefusal{0, kNewNamespaces | kCloneNewTime, EPERM});
  program.refuse(SYS_clone3, ENOSYS);
}

}  // namespace

SeccompProgram seccomp_profile(SeccompScope scope) {
  SeccompProgram program;
  for (unsigned number : kAllowed) program.allow(number);
  for (unsigned number : kRefused) program.refuse(number, EPERM);
  limit_commands(program);
  limit_sockets(program);
  limit_namespaces(program, scope);
  return program;
}

}  // namespace harena
