#include "shim/process_flags.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sdk/base/unique_fd.hpp"

namespace harena::shim {
namespace {

class ProcessFlagsTest : public ::testing::Test {
 protected:
  /// Dead, and not waited for.
  ProcessFlags kill_and_look(pid_t pid) {
    ::kill(pid, SIGKILL);
    siginfo_t info{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
    const auto flags = process_flags(proc.get(), pid);
    EXPECT_TRUE(flags.has_value());
    ::waitpid(pid, nullptr, 0);
    EXPECT_FALSE(process_flags(proc.get(), pid).has_value());
    return flags.value_or(ProcessFlags{});
  }
  UniqueFd proc{::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(ProcessFlagsTest, OneThatIsStillItsMakersProgramIsToldFromOneThatRanItsOwn) {
  const pid_t copy = ::fork();
  if (copy == 0) {
    for (;;) ::pause();
  }
  const auto before = kill_and_look(copy);
  EXPECT_EQ(before.state, 'Z');
  EXPECT_TRUE(before.exiting && before.no_exec);

  pid_t program = -1;
  char name[] = "sleep", time[] = "1000";
  char* words[] = {name, time, nullptr};
  ASSERT_EQ(::posix_spawnp(&program, name, nullptr, nullptr, words, environ), 0);  // returns behind the exec
  const auto after = kill_and_look(program);
  EXPECT_EQ(after.state, 'Z');
  EXPECT_TRUE(after.exiting);
  EXPECT_FALSE(after.no_exec);
}

TEST_F(ProcessFlagsTest, ALivingOneIsNotExiting) {
  const auto own = process_flags(proc.get(), ::getpid());
  ASSERT_TRUE(own.has_value());
  EXPECT_FALSE(own->exiting);
  EXPECT_FALSE(own->no_exec);
}

}  // namespace
}  // namespace harena::shim
