// The profile in the kernel: calls whose arguments are wrong, so that what isn't filtered says so by another error.
#include "sdk/support/seccomp_profile.hpp"

#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace harena {
namespace {

/// The errno of `call` under the profile; 0 when it succeeded, -1 when there was no answer.
int errno_under(SeccompScope scope, const std::function<long()>& call) {
  auto code = seccomp_profile(scope).compile(ENOSYS);
  EXPECT_TRUE(code.ok());
  const pid_t child = ::fork();
  if (child == 0) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !install_seccomp(*code).ok()) ::_exit(255);
    errno = 0;
    ::_exit(call() < 0 ? errno : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) != 255 ? WEXITSTATUS(status) : -1;
}

TEST(SeccompProfile, ReachesNeitherTheKernelNorTheFileSystemNorTheHypervisor) {
  for (auto scope : {SeccompScope::container, SeccompScope::machine}) {
    for (unsigned long command : {0xC0C0586DUL /* XFS_IOC_SWAPEXT */, 0xC028660FUL /* EXT4_IOC_MOVE_EXT */, 0x40086610UL /* EXT4_IOC_RESIZE_FS */,
                                  0x40086602UL /* FS_IOC_SETFLAGS */, 0x401C5820UL /* FS_IOC_FSSETXATTR */}) {
      EXPECT_EQ(errno_under(scope, [=] { return ::syscall(SYS_ioctl, -1, command, nullptr); }), EPERM) << std::hex << command;
    }
    EXPECT_EQ(errno_under(scope, [] { return ::syscall(SYS_ioctl, -1, FS_IOC_GETFLAGS, nullptr); }), EBADF);
    for (long number : {SYS_bpf, SYS_keyctl, SYS_userfaultfd, SYS_io_uring_setup, SYS_perf_event_open, SYS_kexec_load, SYS_finit_module,
                        SYS_open_by_handle_at, SYS_reboot, SYS_clock_settime}) {
      EXPECT_EQ(errno_under(scope, [=] { return ::syscall(number, -1, 0, 0, 0, 0); }), EPERM) << number;
    }
    EXPECT_EQ(errno_under(scope, [] { return ::socket(AF_VSOCK, SOCK_STREAM, 0); }), EAFNOSUPPORT);
    EXPECT_EQ(errno_under(scope, [] { return ::syscall(1000); }), ENOSYS);
  }
}

TEST(SeccompProfile, NamespacesAreThoseOfAMachineOfOnesOwn) {
  const auto join = [] { return ::syscall(SYS_setns, -1, 0); };
  EXPECT_EQ(errno_under(SeccompScope::container, join), EPERM);
  EXPECT_EQ(errno_under(SeccompScope::machine, join), EBADF);
  const auto clone = [] { return ::syscall(SYS_clone3, nullptr, 0); };
  EXPECT_EQ(errno_under(SeccompScope::container, clone), ENOSYS);
  EXPECT_EQ(errno_under(SeccompScope::machine, clone), EINVAL);
  const auto leave = [] { return ::syscall(SYS_unshare, CLONE_NEWUSER | 1); };
  EXPECT_EQ(errno_under(SeccompScope::container, leave), EPERM);
  EXPECT_EQ(errno_under(SeccompScope::machine, leave), EINVAL);
}

}  // namespace
}  // namespace harena
