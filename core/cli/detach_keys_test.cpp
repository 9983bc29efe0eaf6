#include "core/cli/detach_keys.hpp"

#include <gtest/gtest.h>

namespace harena::cli {
namespace {

TEST(DetachKeys, NoneHoldNothingBack) { EXPECT_EQ(DetachKeys().feed("a\x10\x11").forward, "a\x10\x11"); }

TEST(DetachKeys, TheSequenceDetachesAlsoInPieces) {
  auto keys = DetachKeys::parse("ctrl-p,ctrl-q").value();
  const auto first = keys.feed("ls\x10");
  EXPECT_EQ(first.forward, "ls");
  EXPECT_FALSE(first.detached);
  const auto second = keys.feed("\x11 rest");
  EXPECT_EQ(second.forward, "");
  EXPECT_TRUE(second.detached);
}

TEST(DetachKeys, WhatIsntTheSequenceArrives) {
  auto keys = DetachKeys::parse("ctrl-p,ctrl-q").value();
  EXPECT_EQ(keys.feed("\x10").forward, "");
  EXPECT_EQ(keys.feed("x").forward, "\x10x");
  EXPECT_EQ(keys.feed("\x10\x10").forward, "\x10");
  EXPECT_TRUE(keys.feed("\x11").detached);
}

TEST(DetachKeys, BadKeysAreNamed) {
  for (const char* bad : {"", "ctrl-", "ctrl-1", "ctrl-pp", "esc", "a,,b", "a,", ","}) EXPECT_FALSE(DetachKeys::parse(bad).ok()) << bad;
  EXPECT_NE(DetachKeys::parse("ctrl-p,esc").error().message.find("'esc'"), std::string::npos);
  EXPECT_TRUE(DetachKeys::parse("~,.").ok());
  EXPECT_TRUE(DetachKeys::parse("ctrl-\\").value().feed("\x1c").detached);
}

}  // namespace
}  // namespace harena::cli
