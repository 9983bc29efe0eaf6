#include "core/cli/words.hpp"

#include <gtest/gtest.h>

namespace harena::cli {
namespace {

TEST(SplitArgumentsTest, NothingBehindTheDashesIsTouched) {
  const char* argv[] = {"harena", "exec", "id", "--", "printf", "[a,b]", "", "--", "-x", "a b'\"$HOME"};
  const auto split = split_arguments(10, argv);
  EXPECT_EQ(split.ours, (std::vector<std::string>{"exec", "id"}));
  EXPECT_EQ(split.trailing, (std::vector<std::string>{"printf", "[a,b]", "", "--", "-x", "a b'\"$HOME"}));
  EXPECT_EQ(split_arguments(3, argv).trailing, std::nullopt);
}

TEST(DurationTest, Units) {
  EXPECT_EQ(*parse_duration_ms("90", "t"), 90'000);
  EXPECT_EQ(*parse_duration_ms("250ms", "t"), 250);
  EXPECT_EQ(*parse_duration_ms("5m", "t"), 300'000);
  EXPECT_EQ(*parse_duration_s("2h", "t"), 7'200);
  EXPECT_EQ(*parse_duration_s("1d", "t"), 86'400);
  EXPECT_EQ(*parse_duration_s("0", "t"), 0);
}

TEST(DurationTest, NonsenseIsNamed) {
  for (const char* text : {"", "s", "-1", "5x", "1.5h", "99999999999999999999", "5 m"}) {
    const auto parsed = parse_duration_ms(text, "--timeout");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().message.find("--timeout is '" + std::string(text) + "'"), std::string::npos);
  }
  EXPECT_FALSE(parse_duration_ms("0", "t").ok());
  EXPECT_FALSE(parse_duration_s("250ms", "t").ok());
}

TEST(PlaceTest, SandboxOrHere) {
  EXPECT_EQ(parse_place("abc:/x:y")->sandbox, "abc");
  EXPECT_EQ(parse_place("abc:/x:y")->path, "/x:y");
  EXPECT_EQ(parse_place("./a:b")->sandbox, "");
  EXPECT_EQ(parse_place("/tmp/a:/b")->sandbox, "");
  EXPECT_EQ(parse_place("plain")->path, "plain");
  EXPECT_NE(parse_place("abc:rel").error().message.find("abc:/rel"), std::string::npos);
}

TEST(PortsTest, OneOrTwo) {
  EXPECT_EQ(parse_ports("80")->local, 80);
  EXPECT_EQ(parse_ports("8000:80")->local, 8000);
  EXPECT_EQ(parse_ports("0:80")->local, 0);
  for (const char* text : {"", "0", "80:", ":80", "x", "70000", "1:2:3"}) EXPECT_FALSE(parse_ports(text).ok()) << text;
}

TEST(PairTest, CutAtTheFirstEqualsSign) {
  EXPECT_EQ(parse_pair("a=b=c", "-l")->second, "b=c");
  EXPECT_EQ(parse_pair("a=", "-l")->second, "");
  EXPECT_FALSE(parse_pair("=b", "-l").ok());
  EXPECT_FALSE(parse_pair("ab", "-l").ok());
}

}  // namespace
}  // namespace harena::cli
