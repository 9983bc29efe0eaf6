#include "sdk/session/flow_control.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace harena::session {
namespace {

TEST(SendWindow, StopsAtItsCreditAndGoesOnWithMore) {
  SendWindow window;
  EXPECT_EQ(window.allow(100), 100u);
  EXPECT_EQ(window.allow(10 << 20), kInitialWindowBytes);
  window.spend(kInitialWindowBytes);
  EXPECT_TRUE(window.blocked());
  EXPECT_EQ(window.allow(1), 0u);
  ASSERT_TRUE(window.grant(5));
  EXPECT_EQ(window.allow(100), 5u);
}

TEST(SendWindow, RefusesNonsense) {
  SendWindow window;
  EXPECT_EQ(window.grant(0).error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(window.grant(kMaxWindowBytes));
  EXPECT_FALSE(window.grant(UINT64_MAX));
  EXPECT_EQ(window.credit(), kInitialWindowBytes);
  EXPECT_TRUE(window.grant(kMaxWindowBytes - kInitialWindowBytes));
  EXPECT_FALSE(window.grant(1));
}

TEST(ReceiveWindow, MoreThanTheCreditIsAProtocolError) {
  ReceiveWindow window;
  ASSERT_TRUE(window.receive(kInitialWindowBytes));
  auto over = window.receive(1);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::invalid_argument);
}

TEST(ReceiveWindow, GrantsInHalves) {
  ReceiveWindow window;
  ASSERT_TRUE(window.receive(kInitialWindowBytes));
  EXPECT_EQ(window.consume(kInitialWindowBytes / 2 - 1), 0u);
  EXPECT_EQ(window.consume(1), kInitialWindowBytes / 2);
  EXPECT_TRUE(window.receive(kInitialWindowBytes / 2));
  EXPECT_FALSE(window.receive(1));
}

TEST(FlowControl, NeverStallsAndNeverOverruns) {
  std::mt19937 random(7);
  SendWindow sender;
  ReceiveWindow receiver;
  std::deque<std::uint64_t> grants;  // on their way
  std::uint64_t to_send = 50 << 20, held = 0, total = to_send;
  while (total > 0) {
    auto n = sender.allow(std::min<std::uint64_t>(to_send, 1 + random() % 100'000));
    sender.spend(n);
    to_send -= n;
    ASSERT_TRUE(receiver.receive(n));
    held += n;
    ASSERT_LE(held, kInitialWindowBytes);
    // The receiver takes some, or all when nothing can move otherwise.
    auto used = sender.blocked() && grants.empty() ? held : random() % (held + 1);
    held -= used;
    total -= used;
    if (auto more = receiver.consume(used)) grants.push_back(more);
    if (!grants.empty() && (random() % 3 == 0 || sender.blocked())) {
      ASSERT_TRUE(sender.grant(grants.front()));
      grants.pop_front();
    }
  }
  EXPECT_EQ(to_send, 0u);
}

TEST(StreamIds, OddAndGrowing) {
  StreamIds ids;
  EXPECT_TRUE(ids.open(1));
  EXPECT_TRUE(ids.open(7));
  EXPECT_FALSE(ids.open(7));
  EXPECT_FALSE(ids.open(5));
  EXPECT_FALSE(ids.open(8));
  EXPECT_FALSE(ids.open(0));
  EXPECT_EQ(*ids.next(), 9u);
  EXPECT_TRUE(ids.open(0xffff'ffff));
  EXPECT_EQ(ids.next().error().code, ErrorCode::resource_exhausted);
  EXPECT_FALSE(ids.open(0xffff'ffff));
}

}  // namespace
}  // namespace harena::session
