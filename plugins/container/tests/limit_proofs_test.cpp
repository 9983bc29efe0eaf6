// Limits at work: not what the files of the groups say, but what becomes of programs that want more. Times are only ever compared downwards:
// a busy machine makes everything slower, never faster.

#include <unistd.h>

#include <thread>

#include "plugins/container/tests/container_case.hpp"
#include "sdk/support/process.hpp"

namespace harena::container::testing {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMiB = 1 << 20;

class LimitProofs : public ContainerCase {
 protected:
  std::int64_t used(const std::string& id, const char* what) { return backend_->usage(id).result.value(what, std::int64_t{0}); }

  /// Two sandboxes that want the same CPU all the time; how much of it the first got, in thousandths.
  std::int64_t share_of_first(json first_params, json second_params) {
    first_params.update({{"cpuset", "0"}});
    second_params.update({{"cpuset", "0"}});
    const std::string first = made(first_params), second = made(second_params);
    const std::vector<std::string> spin = {"sh", "-c", "while :; do :; done"};
    const int one = backend_->start(first, spin), other = backend_->start(second, spin);
    // Only what both did while both were running.
    while (used(first, "cpu_ns") < kSecond / 20 || used(second, "cpu_ns") == 0) ::usleep(1000);
    const std::int64_t first_before = used(first, "cpu_ns"), second_before = used(second, "cpu_ns");
    std::int64_t first_got = 0, second_got = 0;
    while (first_got + second_got < kSecond) {
      ::usleep(10'000);
      first_got = used(first, "cpu_ns") - first_before;
      second_got = used(second, "cpu_ns") - second_before;
    }
    EXPECT_EQ(backend_->stop(first).status, HARENA_OK);
    EXPECT_EQ(backend_->stop(second).status, HARENA_OK);
    ::close(one);
    ::close(other);
    return first_got * 1000 / (first_got + second_got);
  }

  double seconds_for(const std::string& id, const std::string& command) {
    const std::int64_t began = monotonic_now_ns();
    const auto result = backend_->shell(id, command);
    EXPECT_EQ(result.exit, 0) << result.output;
    return static_cast<double>(monotonic_now_ns() - began) / static_cast<double>(kSecond);
  }
};

TEST_F(LimitProofs, WeightsShareACpu) {
  const auto share = share_of_first({{"cpu_weight", 900}}, {{"cpu_weight", 100}});
  EXPECT_GE(share, 750) << "nine tenths are right";
}

TEST_F(LimitProofs, TheIdleClassRunsWhenNobodyElseWantsTo) {
  const auto share = share_of_first({{"cpu", 1}}, {{"cpu_idle", true}});
  EXPECT_GE(share, 900);
}

/// However many want it. (That a quota throttles at all is container_limits_test's.)
TEST_F(LimitProofs, AQuotaIsOfAllProcessesTogether) {
  const std::string id = made({{"cpu", 0.2}});
  const int one = backend_->start(id, {"sh", "-c", "while :; do :; done"}), other = backend_->start(id, {"sh", "-c", "while :; do :; done"});
  while (used(id, "cpu_ns") == 0) ::usleep(1000);
  const std::int64_t began = monotonic_now_ns(), before = used(id, "cpu_ns");
  while (monotonic_now_ns() - began < kSecond) ::usleep(10'000);
  const std::int64_t took = monotonic_now_ns() - began, got = used(id, "cpu_ns") - before;
  // A period of 100 ms at each end may be counted wholly.
  EXPECT_LE(got, took / 5 + kSecond / 5);
  ::close(one);
  ::close(other);
}

TEST_F(LimitProofs, MemoryHighTakesCachesBack) {
  if (hybrid()) GTEST_SKIP() << "cgroup v1 has no memory.high: memory_high is a wish there (docs/limits.md)";
  const std::string write = "dd if=/dev/zero of=/f bs=1M count=120 2>/dev/null && cat /f >/dev/null";
  const std::string wide = made({{"memory", "256MiB"}}), narrow = made({{"memory", "256MiB"}, {"memory_high", "32MiB"}});
  EXPECT_EQ(backend_->shell(wide, write).exit, 0);
  EXPECT_EQ(backend_->shell(narrow, write).exit, 0);
  EXPECT_GE(used(wide, "memory_bytes"), 80 * kMiB);
  EXPECT_LE(used(narrow, "memory_bytes"), 48 * kMiB);
  EXPECT_EQ(used(narrow, "oom_kills"), 0);
}

bool host_has_swap() {
  const std::string table = read_text("/proc/swaps");
  return table.find('\n') != std::string::npos && table.find('\n') + 1 < table.size();
}

TEST_F(LimitProofs, SwapIsBesideTheMemoryAndNoMore) {
  if (!host_has_swap()) GTEST_SKIP() << "the host has no swap";
  const std::string fill = "dd if=/dev/zero of=/dev/shm/f bs=1M count=48 2>/dev/null; echo $?; wc -c < /dev/shm/f";
  const json params = {{"memory", "32MiB"}, {"shm", "100MiB"}, {"swap", "64MiB"}};
  const std::string with = made(params);
  EXPECT_EQ(backend_->shell(with, fill).output, "0\n" + std::to_string(48 * kMiB) + "\n");
  EXPECT_EQ(used(with, "oom_kills"), 0);
  const std::string without = made({{"memory", "32MiB"}, {"shm", "100MiB"}});
  backend_->shell(without, fill);
  EXPECT_GE(used(without, "oom_kills"), 1);
  const std::string more = made(params);
  backend_->shell(more, "dd if=/dev/zero of=/dev/shm/f bs=1M count=99 2>/dev/null");
  EXPECT_GE(used(more, "oom_kills"), 1) << "96 MiB are all there is";
}

class IoProofs : public LimitProofs {
 protected:
  /// A sandbox with the limit, or a skip with the reason.
  std::string limited(const json& params) {
    const std::string id = new_id();
    auto outcome = backend_->create(id, params);
    if (outcome.status == HARENA_OK) return id;
    EXPECT_NE(outcome.message.find("'io_bandwidth'"), std::string::npos) << outcome.message;
    return {};
  }
};

TEST_F(IoProofs, BytesASecond) {
  const std::string id = limited({{"io_write_bps", "2MiB"}, {"io_read_bps", "2MiB"}});
  if (id.empty()) GTEST_SKIP() << "the state folder is on no disk, or the kernel can't";
  // What is direct is throttled on both hierarchies.
  EXPECT_GE(seconds_for(id, "dd if=/dev/zero of=/f bs=256k count=24 oflag=direct 2>/dev/null"), 2.0) << "6 MiB";
  EXPECT_GE(seconds_for(id, "dd if=/f of=/dev/null bs=256k count=24 iflag=direct 2>/dev/null"), 2.0);
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
}

TEST_F(IoProofs, OperationsASecond) {
  const std::string id = limited({{"io_write_iops", 20}});
  if (id.empty()) GTEST_SKIP() << "the state folder is on no disk, or the kernel can't";
  EXPECT_GE(seconds_for(id, "dd if=/dev/zero of=/f bs=4k count=60 oflag=direct 2>/dev/null"), 2.0) << "60 writes, 20 a second";
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
}

/// A sandbox's overlay is volatile, so fsync(2) waits for no writeback: what throttles a writer is that it may leave no more than a part of
/// its memory dirty.
TEST_F(IoProofs, WritesThroughTheCacheTooOnV2) {
  if (hybrid()) GTEST_SKIP() << "cgroup v1 writes caches back for nobody (docs/limits.md)";
  const std::string id = limited({{"io_write_bps", "2MiB"}, {"memory", "32MiB"}});
  if (id.empty()) GTEST_SKIP() << "the state folder is on no disk, or the kernel can't";
  EXPECT_GE(seconds_for(id, "dd if=/dev/zero of=/f bs=256k count=192 2>/dev/null"), 4.0) << "48 MiB, of which 32 are no more than dirty";
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
}

/// A limit that can't be set fails the create, by its name; the operator's word lets it pass, and is told.
TEST_F(LimitProofs, WhatCannotBeSetFailsTheCreate) {
  if (!hybrid()) GTEST_SKIP() << "cgroup v2 with systemd has all controllers";
  const std::string id = new_id();
  const auto refused = backend_->create(id, {{"io_weight", 300}});
  if (refused.status == HARENA_OK) GTEST_SKIP() << "this host can weigh I/O";
  EXPECT_EQ(refused.cause, HARENA_CAUSE_INFRASTRUCTURE);
  EXPECT_NE(refused.message.find("allow_missing_limits"), std::string::npos) << refused.message;
  EXPECT_EQ(backend_->usage(id).status, HARENA_NOT_FOUND) << "nothing of it is left";
  Backend other(json{{"allow_missing_limits", json::array({"cpu_idle"})}});
  EXPECT_NE(other.create(new_id(), {{"io_weight", 300}}).status, HARENA_OK) << "another limit was allowed to be missing";
}

}  // namespace
}  // namespace harena::container::testing
