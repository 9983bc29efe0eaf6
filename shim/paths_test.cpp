#include "shim/paths.hpp"

#include <gtest/gtest.h>

#include "sdk/session/file_messages.hpp"

namespace harena::shim {
namespace {

TEST(Paths, SplitAtTheLastName) {
  auto both = [](const std::string& path) {
    auto parts = split_path(path);
    return parts ? parts->parent + "|" + parts->name : parts.error().message;
  };
  EXPECT_EQ(both("/a"), "/|a");
  EXPECT_EQ(both("a"), "/|a");
  EXPECT_EQ(both("//a"), "/|a");
  EXPECT_EQ(both("/a/b//"), "/a|b");
  EXPECT_EQ(both("/a/../b"), "/a/..|b");
  EXPECT_EQ(both("/a/..b"), "/a|..b");
  for (auto path : {"/", "//", "..", "/a/..", "/a/.", "./"}) EXPECT_FALSE(split_path(path)) << path;
}

TEST(Paths, CheckedBeforeAnythingElse) {
  EXPECT_FALSE(split_path(""));
  EXPECT_FALSE(split_path(std::string("/a\0b", 4)));
  EXPECT_TRUE(split_path("/" + std::string(session::kMaxPathBytes - 1, 'n')));
  EXPECT_EQ(split_path("/" + std::string(session::kMaxPathBytes, 'n')).error().code, ErrorCode::invalid_argument);
}

TEST(Paths, BehindALink) {
  EXPECT_EQ(behind_link("/a/l", "t"), "/a/t");
  EXPECT_EQ(behind_link("/a/l/", "../t"), "/a/../t");
  EXPECT_EQ(behind_link("/l", "t"), "/t");
  EXPECT_EQ(behind_link("l", "t"), "/t");
  EXPECT_EQ(behind_link("/a/l", "/t"), "/t");
}

TEST(Paths, InsideOfAFolder) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(*inside_path("./a//b/./c/"), (Parts{"a", "b", "c"}));
  EXPECT_EQ(*inside_path("./"), Parts{});
  EXPECT_EQ(*inside_path("..a/b.."), (Parts{"..a", "b.."}));
  for (auto path : {"", "/", "/a", "..", "a/..", "../a", "a/../b", "a//../b"}) EXPECT_FALSE(inside_path(path)) << path;
  EXPECT_FALSE(inside_path(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace harena::shim
