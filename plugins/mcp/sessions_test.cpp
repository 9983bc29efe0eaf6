#include "plugins/mcp/sessions.hpp"

#include <gtest/gtest.h>

namespace harena::mcp {
namespace {

TEST(Sessions, AnyReplicaKnowsThem) {
  SeededRandom random(1);
  Sessions one("secret", random), other("secret", random);
  const auto id = one.make("token", "2025-11-25");
  EXPECT_EQ(other.find(id, "token"), "2025-11-25");
  EXPECT_NE(one.make("token", "2025-11-25"), id);
  for (const char c : id) EXPECT_TRUE(c > 0x20 && c < 0x7f);
}

TEST(Sessions, NobodyElseCanUseThem) {
  SeededRandom random(1);
  Sessions sessions("secret", random);
  auto id = sessions.make("token", "2025-06-18");
  EXPECT_EQ(sessions.find(id, "other"), std::nullopt);
  EXPECT_EQ(Sessions("another", random).find(id, "token"), std::nullopt);
  for (const char* forged : {"", ".", "..", "a.b.c", "a.2025-06-18.00"}) EXPECT_EQ(sessions.find(forged, "token"), std::nullopt) << forged;
  id.back() = id.back() == '0' ? '1' : '0';
  EXPECT_EQ(sessions.find(id, "token"), std::nullopt);
}

TEST(Sessions, OneThatWasEndedIsGone) {
  SeededRandom random(1);
  Sessions sessions("secret", random);
  const auto id = sessions.make("token", "2025-11-25");
  sessions.end(id);
  sessions.end(id);
  EXPECT_EQ(sessions.find(id, "token"), std::nullopt);
}

}  // namespace
}  // namespace harena::mcp
