#include "sdk/support/process.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace harena {
namespace {

pid_t sleeper() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    while (true) ::pause();
  }
  return pid;
}

TEST(Process, KnownByPidAndStartTime) {
  const pid_t pid = sleeper();
  auto ref = process_ref(pid);
  ASSERT_TRUE(ref.ok());
  auto fd = open_process(*ref);
  ASSERT_TRUE(fd.ok());
  EXPECT_FALSE(wait_process_end(fd->get(), 0));
  ProcessRef other = *ref;
  ++other.start_ticks;
  EXPECT_EQ(open_process(other).error().code, ErrorCode::not_found);
  ASSERT_TRUE(signal_process(fd->get(), SIGKILL).ok());
  EXPECT_TRUE(wait_process_end(fd->get(), monotonic_now_ns() + 5'000'000'000));
  // A zombie has ended, although its pid is still taken.
  EXPECT_EQ(open_process(*ref).error().code, ErrorCode::not_found);
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(signal_process(fd->get(), SIGKILL).ok());
  EXPECT_EQ(process_ref(pid).error().code, ErrorCode::not_found);
}

TEST(Process, WithoutADescriptorItHasntEnded) {
  const auto self = process_ref(::getpid());
  ASSERT_TRUE(self.ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto opened = open_process(*self);
  const auto referred = process_ref(::getpid());
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::resource_exhausted);
  ASSERT_FALSE(referred.ok());
  EXPECT_EQ(referred.error().code, ErrorCode::resource_exhausted);
}

TEST(Process, DeadlinesForPoll) {
  EXPECT_EQ(poll_timeout_ms(1), 0);
  EXPECT_GT(poll_timeout_ms(monotonic_now_ns() + 1'000'000'000), 0);
  EXPECT_EQ(poll_timeout_ms(INT64_MAX), INT32_MAX);
  EXPECT_EQ(boot_id().value().size(), 36u);
}

}  // namespace
}  // namespace harena
