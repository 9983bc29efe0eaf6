#include "sdk/client/lines.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace harena::client {
namespace {

std::vector<std::string> lines_of(std::string_view text, std::size_t piece) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    const auto status = splitter.feed(text.substr(at, piece), [&](std::string_view line) -> Status {
      lines.emplace_back(line);
      return {};
    });
    EXPECT_TRUE(status.ok());
  }
  return lines;
}

TEST(LineSplitterTest, TheCutsDontMatter) {
  const std::vector<std::string> expected = {"one", "two", "three"};
  for (std::size_t piece = 1; piece < 20; ++piece) EXPECT_EQ(lines_of("one\n\ntwo\nthree\nrest", piece), expected) << piece;
}

TEST(LineSplitterTest, StopsAtAFailure) {
  LineSplitter splitter;
  int seen = 0;
  const auto status = splitter.feed("a\nb\n", [&](std::string_view) -> Status {
    ++seen;
    return make_error(ErrorCode::aborted, "enough");
  });
  EXPECT_EQ(status.error().code, ErrorCode::aborted);
  EXPECT_EQ(seen, 1);
}

TEST(LineSplitterTest, ALineWithoutEndIsAnError) {
  LineSplitter splitter;
  const std::string piece(LineSplitter::kMaxLineBytes, 'x');
  const auto ignore = [](std::string_view) -> Status { return {}; };
  EXPECT_TRUE(splitter.feed(piece, ignore).ok());
  EXPECT_EQ(splitter.feed("y", ignore).error().code, ErrorCode::data_loss);
}

}  // namespace
}  // namespace harena::client
