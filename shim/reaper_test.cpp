#include "shim/reaper.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace harena::shim {
namespace {

/// A child that has exited with `code`, and isn't waited for yet.
pid_t dead_child(int code) {
  pid_t pid = ::fork();
  if (pid == 0) ::_exit(code);
  siginfo_t info{};
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  return pid;
}

class ReaperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = EventLoop::create(clock);
    ASSERT_TRUE(made);
    loop = *std::move(made);
    auto reaping = Reaper::create(*loop);
    ASSERT_TRUE(reaping);
    reaper = *std::move(reaping);
  }
  /// Turns the loop until `done`, and never longer than ten seconds.
  void turn_until(const bool& done) {
    auto end = loop->after_ms(10'000, [this] { loop->stop(); });
    auto check = std::make_shared<std::function<void()>>();
    *check = [&, weak = std::weak_ptr(check)] {
      if (done) return loop->stop();
      if (auto self = weak.lock()) (void)loop->after_ms(1, [self] { (*self)(); });
    };
    (void)loop->after_ms(0, [check] { (*check)(); });
    loop->run();
    loop->cancel(end);
  }
  SystemClock clock;
  std::unique_ptr<EventLoop> loop;
  std::unique_ptr<Reaper> reaper;
};

TEST_F(ReaperTest, TellsOnce) {
  int calls = 0;
  bool done = false;
  reaper->on_death(dead_child(7), [&](const Death& death) {
    ++calls;
    EXPECT_EQ(WEXITSTATUS(death.status), 7);
    done = true;
  });
  turn_until(done);
  EXPECT_EQ(calls, 1);
}

TEST_F(ReaperTest, RemembersTheDeadWhileAChildIsExpected) {
  reaper->expect();
  pid_t unnamed = dead_child(3);
  bool done = false;
  // wait(2) takes the oldest first: when this one is told, the other has been waited for.
  reaper->on_death(dead_child(0), [&](const Death&) {
    reaper->on_death(unnamed, [&](const Death& death) {
      EXPECT_EQ(WEXITSTATUS(death.status), 3);
      done = true;
    });
    reaper->settled();
    EXPECT_FALSE(done) << "told from within the call that asked";
  });
  turn_until(done);
  EXPECT_TRUE(done);
}

TEST_F(ReaperTest, ForgetsTheUnknownOtherwise) {
  pid_t orphan = dead_child(3);
  bool done = false, told = false;
  reaper->on_death(dead_child(0), [&](const Death&) {
    reaper->on_death(orphan, [&](const Death&) { told = true; });
    (void)loop->after_ms(20, [&] { done = true; });
  });
  turn_until(done);
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace harena::shim
