#include "sdk/http/target.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace harena::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(Target, SplitsAllForms) {
  EXPECT_EQ(split_target("/a/b?c=d?e").path, "/a/b");
  EXPECT_EQ(split_target("/a/b?c=d?e").query, "c=d?e");
  EXPECT_EQ(split_target("/a").query, std::nullopt);
  EXPECT_EQ(split_target("/a?").query, "");
  EXPECT_EQ(split_target("http://host:80/a?b").path, "/a");
  EXPECT_EQ(split_target("http://host").path, "/");
  EXPECT_EQ(split_target("http://host?q").path, "/");
  EXPECT_EQ(split_target("http://host?q").query, "q");
  EXPECT_EQ(split_target("*").path, "*");
  EXPECT_EQ(split_target("host:443").path, "");
  EXPECT_EQ(split_target("").path, "");
  EXPECT_EQ(split_target("/a#b?c").path, "/a");
}

TEST(Target, SegmentsAreDecodedAfterTheSplit) {
  EXPECT_THAT(*path_segments("/a%2Fb/c"), ElementsAre("a/b", "c"));
  EXPECT_THAT(*path_segments("/"), IsEmpty());
  EXPECT_THAT(*path_segments("/a/"), ElementsAre("a", ""));
  EXPECT_THAT(*path_segments("//a/../b"), ElementsAre("", "a", "..", "b"));
  EXPECT_THAT(*path_segments("/%E6%96%87%00%ff+"), ElementsAre(std::string("\xE6\x96\x87\0\xff+", 6)));
  for (const auto* bad : {"/%", "/%2", "/%zz", "/a%2"}) EXPECT_FALSE(path_segments(bad).ok()) << bad;
}

TEST(Target, QueryKeepsOrderAndBytes) {
  const auto query = *Query::parse("a=1&b&a=%20+2&&c=%00%ff&=x&d=e=f");
  EXPECT_THAT(query.pairs(), ElementsAre(Pair("a", "1"), Pair("b", ""), Pair("a", "  2"),
                                         Pair("c", std::string("\0\xff", 2)), Pair("", "x"), Pair("d", "e=f")));
  EXPECT_EQ(query.get("a"), "1");
  EXPECT_THAT(query.get_all("a"), ElementsAre("1", "  2"));
  EXPECT_FALSE(query.contains("z"));
  EXPECT_FALSE(Query::parse("a=%g0").ok());
}

TEST(Target, UnknownParametersAreNamed) {
  const std::vector<std::string> known = {"limit", "cursor"};
  const auto status = Query::parse("limt=3")->allow_only(known);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("'limt', did you mean 'limit'?"));
  EXPECT_TRUE(Query::parse("limit=3&cursor=x")->allow_only(known).ok());
  EXPECT_NE(Query::parse("limit=3")->allow_only({}).error().message.find("has none"), std::string::npos);
}

TEST(Target, WhatComesTwiceIsRefusedUnlessItMay) {
  const auto twice = Query::parse("limit=3&label=a&limit=4")->refuse_repeated("label");
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(twice.error().message, HasSubstr("'limit' comes more than once"));
  EXPECT_TRUE(Query::parse("label=a&limit=3&label=b")->refuse_repeated("label").ok());
}

}  // namespace
}  // namespace harena::http
