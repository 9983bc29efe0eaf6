#include "core/iam/quota.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace harena {
namespace {

ProjectPath path_of(const std::string& text) { return ProjectPath::parse(text).value(); }
const QuotaAmount kNothing{.sandboxes = 0};

TEST(Quota, UnlimitedByDefault) {
  QuotaLedger quotas;
  EXPECT_TRUE(quotas.reserve(path_of("root/a"), {1'000'000, 1'000'000, 1ll << 40}).ok());
}

TEST(Quota, CountsAlongTheChainAndGivesBack) {
  QuotaLedger quotas;
  {
    const auto held = quotas.reserve(path_of("root/a/b"), {1, 500, 64}).value().amount();
    EXPECT_EQ(quotas.used(path_of("root")), kNothing);  // the temporary is gone
    auto kept = quotas.reserve(path_of("root/a/b"), held);
    for (const char* path : {"root", "root/a", "root/a/b"}) EXPECT_EQ(quotas.used(path_of(path)), held) << path;
    kept->release();
    kept->release();
    EXPECT_EQ(quotas.used(path_of("root")), kNothing);
  }
  EXPECT_EQ(quotas.used(path_of("root/a")), kNothing);
}

TEST(Quota, TheLimitOfAnAncestorHoldsAndIsNamed) {
  QuotaLedger quotas;
  quotas.set_limits(path_of("root/a"), {.memory_bytes = 100});
  const auto held = quotas.reserve(path_of("root/a/x"), {1, 0, 60});
  const auto refused = quotas.reserve(path_of("root/a/y"), {1, 0, 41});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(refused.error().cause, Cause::limit);
  EXPECT_EQ(refused.error().cause_detail, "quota.memory_bytes");
  EXPECT_EQ(refused.error().message,
            "project 'root/a' may use 100 memory_bytes; it uses 60 and 41 more were asked for");
  EXPECT_EQ(quotas.used(path_of("root/a/y")), kNothing);  // nothing half-reserved
  EXPECT_EQ(quotas.used(path_of("root")).sandboxes, 1);
  EXPECT_TRUE(quotas.reserve(path_of("root/a/y"), {1, 0, 40}).ok());
}

TEST(Quota, ZeroIsALimitAndWhoWantsNothingOfItPasses) {
  QuotaLedger quotas;
  quotas.set_limits(path_of("root"), {.cpu_milli = 0});
  EXPECT_FALSE(quotas.reserve(path_of("root"), {1, 1, 0}).ok());
  EXPECT_TRUE(quotas.reserve(path_of("root"), {1, 0, 5}).ok());
}

TEST(Quota, AdoptIgnoresLimitsAndLowerLimitsOnlyRefuseMore) {
  QuotaLedger quotas;
  quotas.set_limits(path_of("root"), {.sandboxes = 1});
  const auto a = quotas.adopt(path_of("root"), {});
  const auto b = quotas.adopt(path_of("root"), {});
  EXPECT_EQ(quotas.used(path_of("root")).sandboxes, 2);
  EXPECT_FALSE(quotas.reserve(path_of("root"), {}).ok());
}

TEST(Quota, AmountsOutOfRangeAreRefused) {
  QuotaLedger quotas;
  EXPECT_EQ(quotas.reserve(path_of("root"), {-1, 0, 0}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(quotas.reserve(path_of("root"), {1, 0, INT64_MAX}).error().code, ErrorCode::invalid_argument);
}

TEST(Quota, AReservationMovesAndMayOutliveTheLedger) {
  std::optional<QuotaLedger> quotas(std::in_place);
  QuotaLedger::Reservation held = quotas->reserve(path_of("root"), {}).value().amount() == QuotaAmount{}
                                      ? quotas->adopt(path_of("root"), {})
                                      : QuotaLedger::Reservation();
  QuotaLedger::Reservation other = std::move(held);
  EXPECT_FALSE(held);
  EXPECT_EQ(quotas->used(path_of("root")).sandboxes, 1);
  other = quotas->adopt(path_of("root"), {3, 0, 0});
  EXPECT_EQ(quotas->used(path_of("root")).sandboxes, 3);
  quotas.reset();
}

TEST(Quota, ThreadsNeverPassTheLimit) {
  QuotaLedger quotas;
  quotas.set_limits(path_of("root/a"), {.sandboxes = 10});
  std::atomic<int> inside = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      std::vector<QuotaLedger::Reservation> held;
      for (int j = 0; j < 500; ++j) {
        if (auto one = quotas.reserve(path_of("root/a/b"), {})) {
          const int now = ++inside;
          for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
          }
          held.push_back(std::move(*one));
        }
        if (held.size() > 2) {
          inside -= static_cast<int>(held.size());
          held.clear();
        }
      }
      inside -= static_cast<int>(held.size());
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(most, 10);
  EXPECT_EQ(quotas.used(path_of("root")), kNothing);
}

}  // namespace
}  // namespace harena
