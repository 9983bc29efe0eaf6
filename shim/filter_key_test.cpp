#include "shim/filter_key.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace harena::shim {
namespace {

/// Refuses clone3 and setns as a profile does, allows the rest; answers with another error to tell its two rules apart.
std::vector<sock_filter> profile() {
  return {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setns, 0, 1),
          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
}

/// The result of `body` in a process that has the filter; 99 when it couldn't be installed.
int confined(const FilterKey& key, const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto code = key.open_door_in(profile());
    sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    const bool installed = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    ::_exit(installed ? body() : 99);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// errno of a clone3 by this key; 0 when a child was born.
int clone_by(const FilterKey& key) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  const long pid = key.clone3(&arguments, sizeof arguments);
  if (pid == 0) ::_exit(0);
  if (pid < 0) return errno;
  ::waitpid(static_cast<pid_t>(pid), nullptr, 0);
  return 0;
}

/// setns on no descriptor: EBADF is the kernel's word, what comes before is the filter's.
int enter_by(const FilterKey& key) {
  return key.setns(-1, CLONE_NEWUTS) == 0 ? 0 : errno;
}

class FilterKeyTest : public ::testing::Test {
 protected:
  FilterKey key = *FilterKey::make();
};

TEST_F(FilterKeyTest, GrowsTheProgramByTheDoor) {
  EXPECT_EQ(key.open_door_in(profile()).size(), profile().size() + FilterKey::kDoorInstructions);
}

TEST_F(FilterKeyTest, OpensBothCallsToWhoHasIt) {
  EXPECT_EQ(confined(key, [&] { return clone_by(key); }), 0);
  EXPECT_EQ(confined(key, [&] { return enter_by(key); }), EBADF);
}

TEST_F(FilterKeyTest, NobodyElseGetsThrough) {
  const auto other = *FilterKey::make();
  for (const auto* wrong : {&other}) {
    EXPECT_EQ(confined(key, [&] { return clone_by(*wrong); }), ENOSYS);
    EXPECT_EQ(confined(key, [&] { return enter_by(*wrong); }), EPERM);
  }
  EXPECT_EQ(confined(key, [&] { return clone_by(FilterKey{}); }), ENOSYS);
  EXPECT_EQ(confined(key, [&] { return enter_by(FilterKey{}); }), EPERM);
}

TEST_F(FilterKeyTest, EveryBitCounts) {
  // The key as the kernel sees it: the constants of the door's four comparisons.
  const auto code = key.open_door_in({});
  std::uint64_t words[2] = {};
  for (std::size_t i = 0; i < 4; ++i) words[i / 2] |= std::uint64_t{code[4 + 2 * i].k} << (i % 2 * 32);
  EXPECT_EQ(confined(key, [&] { return ::syscall(SYS_setns, -1, 0, words[0], words[1]) == 0 ? 0 : errno; }), EBADF);
  for (int bit = 0; bit < 128; bit += 7) {
    std::uint64_t wrong[2] = {words[0], words[1]};
    wrong[bit / 64] ^= std::uint64_t{1} << (bit % 64);
    EXPECT_EQ(confined(key, [&] { return ::syscall(SYS_setns, -1, 0, wrong[0], wrong[1]) == 0 ? 0 : errno; }), EPERM) << bit;
  }
}

TEST_F(FilterKeyTest, TheKeyOpensNothingElse) {
  const auto code = key.open_door_in({});
  const std::uint64_t first = code[4].k | std::uint64_t{code[6].k} << 32, second = code[8].k | std::uint64_t{code[10].k} << 32;
  EXPECT_EQ(confined(key, [&] { return ::syscall(SYS_getppid, 0, 0, first, second) >= 0 ? 0 : errno; }), EXDEV);
}

TEST_F(FilterKeyTest, ChildrenInheritTheFilterAndTheRestOfItHolds) {
  EXPECT_EQ(confined(key, [&] {
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    const long pid = key.clone3(&arguments, sizeof arguments);
    if (pid == 0) ::_exit(clone_by(FilterKey{}) == ENOSYS && ::syscall(SYS_getppid) == -1 && errno == EXDEV ? 7 : 1);
    int status = 0;
    ::waitpid(static_cast<pid_t>(pid), &status, 0);
    return WEXITSTATUS(status);
  }), 7);
}

TEST_F(FilterKeyTest, NoTwoAreAlike) {
  const auto other = *FilterKey::make();
  EXPECT_NE(key.open_door_in({})[4].k, other.open_door_in({})[4].k);
}

}  // namespace
}  // namespace harena::shim
