#include "core/api/session/file_conditions.hpp"

#include <gtest/gtest.h>

namespace harena {
namespace {

const FileVersion kVersion{"\"a-b\"", 784111777};  // Sun, 06 Nov 1994 08:49:37 GMT

Result<std::optional<ByteRange>> range(std::string text, std::uint64_t size, std::string if_range = "") {
  http::Headers headers;
  headers.set("Range", std::move(text));
  if (!if_range.empty()) headers.set("If-Range", std::move(if_range));
  return wanted_range(headers, kVersion, size);
}

Verdict judge(std::string name, std::string value) {
  http::Headers headers;
  headers.set(name, std::move(value));
  return judge_conditions(headers, kVersion);
}

TEST(FileRange, OneRangeOfTheRfc) {
  EXPECT_EQ(**range("bytes=0-0", 10), (ByteRange{0, 1}));
  EXPECT_EQ(**range("bytes=2-4", 10), (ByteRange{2, 3}));
  EXPECT_EQ(**range("bytes=2-400", 10), (ByteRange{2, 8}));
  EXPECT_EQ(**range("bytes=9-", 10), (ByteRange{9, 1}));
  EXPECT_EQ(**range("bytes=-3", 10), (ByteRange{7, 3}));
  EXPECT_EQ(**range("bytes=-300", 10), (ByteRange{0, 10}));
  EXPECT_EQ(**range("bytes=0-18446744073709551615", 10), (ByteRange{0, 10}));
  EXPECT_EQ(**range("bytes=0-99999999999999999999999", 10), (ByteRange{0, 10}));
}

TEST(FileRange, WhatCannotBeSatisfiedIsSaid) {
  const std::string beyond = "bytes=" + std::string(23, '9') + "-";
  for (auto [text, size] : {std::pair{"bytes=10-", 10}, {"bytes=-0", 10}, {"bytes=0-", 0}, {"bytes=-5", 0}, {beyond.c_str(), 10}}) {
    auto got = range(text, static_cast<std::uint64_t>(size));
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().code, ErrorCode::out_of_range) << text;
  }
}

TEST(FileRange, WhatAServerIgnoresIsTheWhole) {
  for (auto text : {"bytes=0-1,3-4", "lines=1-2", "bytes=4-2", "bytes=", "bytes=-", "bytes=a-b", "bytes=1", "bytes=+1-2", "bytes=1-2x"}) {
    auto got = range(text, 10);
    ASSERT_TRUE(got) << text;
    EXPECT_FALSE(*got) << text;
  }
}

TEST(FileRange, IfRangeNeedsTheVeryTag) {
  EXPECT_TRUE(*range("bytes=1-2", 10, "\"a-b\""));
  EXPECT_FALSE(*range("bytes=1-2", 10, "\"other\""));
  EXPECT_FALSE(*range("bytes=1-2", 10, "W/\"a-b\""));
  EXPECT_FALSE(*range("bytes=1-2", 10, "Sun, 06 Nov 1994 08:49:37 GMT"));
}

TEST(FileConditions, Tags) {
  EXPECT_EQ(judge("If-Match", "\"a-b\""), Verdict::proceed);
  EXPECT_EQ(judge("If-Match", "*"), Verdict::proceed);
  EXPECT_EQ(judge("If-Match", "\"x,y\", \"a-b\""), Verdict::proceed);
  EXPECT_EQ(judge("If-Match", "W/\"a-b\""), Verdict::failed);
  EXPECT_EQ(judge("If-Match", "\"x\""), Verdict::failed);
  EXPECT_EQ(judge("If-Match", "a-b"), Verdict::failed);
  EXPECT_EQ(judge("If-None-Match", "\"a-b\""), Verdict::not_modified);
  EXPECT_EQ(judge("If-None-Match", "\"x\" , W/\"a-b\""), Verdict::not_modified);
  EXPECT_EQ(judge("If-None-Match", "\"x\",,"), Verdict::proceed);
  EXPECT_EQ(judge("If-None-Match", "\"unended"), Verdict::proceed);
}

TEST(FileConditions, DatesInAllThreeFormats) {
  for (auto text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"}) {
    EXPECT_EQ(parse_http_date(text), 784111777) << text;
    EXPECT_EQ(judge("If-Modified-Since", text), Verdict::not_modified) << text;
    EXPECT_EQ(judge("If-Unmodified-Since", text), Verdict::proceed) << text;
  }
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(judge("If-Modified-Since", "Sun, 06 Nov 1994 08:49:36 GMT"), Verdict::proceed);
  EXPECT_EQ(judge("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:36 GMT"), Verdict::failed);
  EXPECT_EQ(judge("If-Modified-Since", "yesterday"), Verdict::proceed);
}

TEST(FileConditions, ATagThatCouldLieMatchesNothing) {
  session::FileStat stat;
  stat.size = 5;
  EXPECT_EQ(version_of(stat).etag, "") << "an older endpoint tells no ctime";
  stat.ctime_ns = 1'000'000'000;
  stat.seen_ns = stat.ctime_ns + 1;
  auto first = version_of(stat).etag;
  stat.seen_ns += 1;
  EXPECT_NE(version_of(stat).etag, first);
  stat.seen_ns = stat.ctime_ns + 1'000'000'000;
  auto settled = version_of(stat).etag;
  stat.seen_ns += 1'000'000'000;
  EXPECT_EQ(version_of(stat).etag, settled);
  stat.mtime_ns = -1;
  EXPECT_EQ(version_of(stat).modified_s, -1);
}

}  // namespace
}  // namespace harena
