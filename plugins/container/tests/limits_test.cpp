// Limits, proved from outside; pause and resume.

#include "plugins/container/tests/container_case.hpp"

#include <unistd.h>

#include "sdk/support/process.hpp"

namespace harena::container::testing {
namespace {

using Limits = ContainerCase;
constexpr std::int64_t kSecond = 1'000'000'000;

TEST_F(Limits, MemoryHogIsKilledAndCounted) {
  const std::string id = made({{"memory", "32MiB"}, {"shm", "1GiB"}});
  auto result = backend_->shell(id, "dd if=/dev/zero of=/dev/shm/hog bs=1M count=200; echo not reached: $?");
  EXPECT_EQ(result.output.find("not reached: 0"), std::string::npos) << result.output;
  auto usage = backend_->usage(id);
  EXPECT_GE(usage.result.value("oom_kills", 0), 1) << usage.result;
  EXPECT_LE(usage.result.value("memory_peak_bytes", INT64_MAX), 33LL << 20) << usage.result;
  // What was written still fills the memory: the first shells may be killed before they have removed it.
  std::string alive;
  for (int i = 0; i < 50 && alive != "alive\n"; ++i) alive = backend_->shell(id, "rm -f /dev/shm/hog; echo alive").output;
  EXPECT_EQ(alive, "alive\n");
}

TEST_F(Limits, ForkBombIsBounded) {
  const std::string id = made({{"pids", 20}});
  auto result = backend_->shell(id, "i=0; while [ $i -lt 60 ]; do sleep 1000 >/dev/null 2>&1 & i=$((i+1)); done; echo survived");
  EXPECT_NE(result.output.find("an't fork"), std::string::npos) << result.output;
  auto usage = backend_->usage(id);
  EXPECT_LE(usage.result.value("pids", 1000), 20) << usage.result;
}

TEST_F(Limits, CpuQuotaThrottles) {
  const std::string id = made({{"cpu", 0.1}});
  const int spinning = backend_->start(id, {"sh", "-c", "while true; do true; done"});
  const std::int64_t deadline = monotonic_now_ns() + 20 * kSecond;
  std::int64_t throttled = 0;
  while (throttled == 0 && monotonic_now_ns() < deadline) throttled = backend_->usage(id).result.value("cpu_throttled_ns", std::int64_t{0});
  EXPECT_GT(throttled, 0);
  EXPECT_GT(backend_->usage(id).result.value("cpu_ns", std::int64_t{0}), 0);
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  ::close(spinning);
}

TEST_F(Limits, PauseStopsEveryInstruction) {
  const std::string id = made();
  const int spinning = backend_->start(id, {"sh", "-c", "while true; do true; done"});
  while (backend_->usage(id).result.value("cpu_ns", std::int64_t{0}) < kSecond / 100) {
  }
  ASSERT_EQ(backend_->pause(id).status, HARENA_OK);
  EXPECT_EQ(backend_->pause(id).status, HARENA_OK);
  const auto before = backend_->usage(id).result["cpu_ns"].get<std::int64_t>();
  const std::int64_t until = monotonic_now_ns() + kSecond / 5;
  while (monotonic_now_ns() < until) {
  }
  EXPECT_EQ(backend_->usage(id).result["cpu_ns"].get<std::int64_t>(), before);
  EXPECT_EQ(backend_->recover(id, last_["state"]).result["status"], "paused");
  ASSERT_EQ(backend_->resume(id).status, HARENA_OK);
  EXPECT_EQ(backend_->resume(id).status, HARENA_OK);
  while (backend_->usage(id).result["cpu_ns"].get<std::int64_t>() == before) {
  }
  ::close(spinning);
}

TEST_F(Limits, PausedSandboxStops) {
  const std::string id = made();
  ASSERT_EQ(backend_->pause(id).status, HARENA_OK);
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  EXPECT_EQ(backend_->usage(id).status, HARENA_NOT_FOUND);
}

TEST_F(Limits, GraceLetsProcessesEnd) {
  const std::string id = made();
  const int waiting = backend_->start(id, {"sh", "-c", "trap 'echo polite; exit 0' TERM; echo ready; while true; do sleep 0.05; done"});
  char text[64] = {};
  ASSERT_EQ(::read(waiting, text, sizeof text), 6);
  ASSERT_EQ(backend_->stop(id, 5000).status, HARENA_OK);
  std::string rest;  // the shell may say that its sleep was terminated, too
  for (ssize_t got; (got = ::read(waiting, text, sizeof text)) > 0;) rest.append(text, static_cast<std::size_t>(got));
  EXPECT_NE(rest.find("polite"), std::string::npos) << rest;
  ::close(waiting);
}

}  // namespace
}  // namespace harena::container::testing
