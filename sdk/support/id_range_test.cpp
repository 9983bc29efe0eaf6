#include "sdk/support/id_range.hpp"

#include <gtest/gtest.h>

namespace harena {
namespace {

TEST(IdRangePool, LowestFreeFirst) {
  IdRangePool pool(kDefaultIdBase, 3);
  EXPECT_EQ(pool.acquire().value(), kDefaultIdBase);
  EXPECT_EQ(pool.acquire().value(), kDefaultIdBase + kIdsPerRange);
  pool.release(kDefaultIdBase);
  EXPECT_EQ(pool.acquire().value(), kDefaultIdBase);
  EXPECT_TRUE(pool.acquire().ok());
  auto full = pool.acquire();
  EXPECT_EQ(full.error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(full.error().cause, Cause::infrastructure);
  EXPECT_EQ(pool.in_use(), 3u);
}

TEST(IdRangePool, ExactlyOnlyOfThePool) {
  IdRangePool pool(65536, 2);
  EXPECT_TRUE(pool.acquire_exactly(131072).ok());
  EXPECT_EQ(pool.acquire_exactly(131072).error().code, ErrorCode::already_exists);
  EXPECT_EQ(pool.acquire_exactly(196608).error().code, ErrorCode::out_of_range);
  EXPECT_EQ(pool.acquire_exactly(65537).error().code, ErrorCode::out_of_range);
  pool.release(7);  // not ours: nothing happens
}

TEST(IdRangePool, BadPoolsAreNamed) {
  EXPECT_TRUE(IdRangePool::check(kDefaultIdBase, kDefaultIdRanges).ok());
  for (auto [base, count] : {std::pair<std::uint64_t, std::uint64_t>{0, 1}, {1000, 1}, {65536, 0}, {65536, 65535}, {0xFFFF0000, 1}}) {
    EXPECT_FALSE(IdRangePool::check(base, count).ok()) << base << " " << count;
  }
}

TEST(Subids, OverlapsAreFound) {
  const std::string text = "alice:100000:65536\nbroken\nbob:1879048190:10\ncarol:x:1\n";
  EXPECT_EQ(overlapping_subids(text, kDefaultIdBase, kDefaultIdBase + 65535), "bob:1879048190:10");
  EXPECT_EQ(overlapping_subids(text, 200000, 300000), "");
}

}  // namespace
}  // namespace harena
