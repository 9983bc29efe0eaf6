#include "plugins/e2b/warm/late_environment.hpp"

#include <gtest/gtest.h>

namespace harena::e2b {
namespace {

TEST(LateEnvironment, NamesAndValuesThatEverythingTakes) {
  EXPECT_TRUE(fits_running({}));
  EXPECT_TRUE(fits_running({{"A", ""}, {"_b9", "two\nlines"}, {"LONG", std::string(100'000, 'x')}}));
}

TEST(LateEnvironment, WhatAKernelCouldRefuseIsLeftToANewSandbox) {
  for (const auto* name : {"", "9A", "A-B", "A=B", "A B", "\xc3\xa4"}) EXPECT_FALSE(fits_running({{"FINE", ""}, {name, "x"}})) << name;
  EXPECT_FALSE(fits_running({{"A", std::string("a\0b", 3)}}));
  EXPECT_FALSE(fits_running({{"A", "\xff"}}));
}

}  // namespace
}  // namespace harena::e2b
