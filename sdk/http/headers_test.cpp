#include "sdk/http/headers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace harena::http {
namespace {

using testing::ElementsAre;

TEST(Headers, IgnoresCaseAndKeepsOrder) {
  Headers headers;
  headers.add("Set-Cookie", "a");
  headers.add("X", "1");
  headers.add("set-cookie", "b");
  EXPECT_THAT(headers.get_all("SET-COOKIE"), ElementsAre("a", "b"));
  EXPECT_EQ(headers.get("x"), "1");
  headers.set("SET-cookie", "c");
  EXPECT_EQ(headers.count("Set-Cookie"), 1u);
  EXPECT_FALSE(headers.contains("Y"));
}

TEST(Headers, SplitsLists) {
  Headers headers;
  headers.add("Connection", "keep-alive, Upgrade ,,");
  headers.add("Connection", "x");
  EXPECT_THAT(headers.tokens("connection"), ElementsAre("keep-alive", "Upgrade", "x"));
  EXPECT_TRUE(headers.has_token("Connection", "upgrade"));
  EXPECT_FALSE(headers.has_token("Connection", "up"));
}

TEST(Headers, KnowsWhatMayGoOut) {
  EXPECT_TRUE(Headers({{"A", "b c\t\xff"}}).valid());
  EXPECT_FALSE(Headers({{"A", "b\r\nX: y"}}).valid());
  EXPECT_FALSE(Headers({{"A b", "c"}}).valid());
  EXPECT_FALSE(Headers({{"", "c"}}).valid());
  EXPECT_FALSE(Headers({{"A", std::string("b\0", 2)}}).valid());
}

TEST(Headers, HopByHopIncludesWhatConnectionNames) {
  Headers headers = {{"Connection", "X-Secret, close"}, {"X-Secret", "1"}, {"Keep-Alive", "1"},
                     {"TE", "trailers"},               {"Upgrade", "h2c"}, {"Trailer", "X-Sum"},
                     {"Accept", "a"},                  {"Accept", "b"},    {"transfer-encoding", "chunked"}};
  remove_hop_by_hop(headers);
  EXPECT_EQ(headers.size(), 3u);
  EXPECT_THAT(headers.get_all("Accept"), ElementsAre("a", "b"));
  EXPECT_TRUE(headers.contains("Trailer"));
}

}  // namespace
}  // namespace harena::http
