#include "plugins/container/launcher/cpu_views.hpp"

#include <gtest/gtest.h>

namespace harena::container {
namespace {

const std::string kThree = "processor\t: 0\nmodel\t: a\n\nprocessor\t: 1\nmodel\t: b\n\nprocessor\t: 5\nmodel\t: c\n\n";

TEST(CpuViews, TheFirstProcessorsNumberedFromNought) {
  EXPECT_EQ(cpuinfo_for(kThree, 1), "processor\t: 0\nmodel\t: a\n\n");
  EXPECT_EQ(cpuinfo_for(kThree, 3), "processor\t: 0\nmodel\t: a\n\nprocessor\t: 1\nmodel\t: b\n\nprocessor\t: 2\nmodel\t: c\n\n");
  EXPECT_EQ(cpuinfo_for(kThree, 64), cpuinfo_for(kThree, 3));
}

TEST(CpuViews, WhatIsNoProcessorIsLeftOut) {
  EXPECT_EQ(cpuinfo_for("processor\t: 0\n\nHardware\t: board\nSerial\t: 77\n", 4), "processor\t: 0\n\n");
  EXPECT_EQ(cpuinfo_for("", 2), "");
  EXPECT_EQ(cpuinfo_for("processor\n: 1\n", 2), "");
  EXPECT_EQ(cpuinfo_for("processor\t: 9", 1), "processor\t: 0");
}

TEST(CpuViews, Lists) {
  EXPECT_EQ(cpu_list_for(1), "0\n");
  EXPECT_EQ(cpu_list_for(2), "0-1\n");
  EXPECT_EQ(cpu_list_for(128), "0-127\n");
}

}  // namespace
}  // namespace harena::container
