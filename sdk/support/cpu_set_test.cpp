#include "sdk/support/cpu_set.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <thread>

namespace harena {
namespace {

TEST(CpuSets, TextsGoBothWays) {
  for (const char* text : {"", "0", "0-3", "0,2", "0-1,3-4,7", "8191"}) EXPECT_EQ(cpus_text(parse_cpus(text).value()), text);
  EXPECT_EQ(cpus_text(parse_cpus("3,1,2,1").value()), "1-3");
}

TEST(CpuSets, WhatIsNoListIsRefused) {
  for (const char* text : {"a", "-1", "1-", "-", ",", "0,", "2-1", "8192", "0 1", "1.5", "0-8192"}) {
    EXPECT_EQ(parse_cpus(text).error().code, ErrorCode::invalid_argument) << text;
  }
}

TEST(CpuSets, AThreadsOwn) {
  std::thread([] {
    const CpuSet all = cpus_of(0).value();
    ASSERT_FALSE(all.empty());
    const CpuSet one = {*all.rbegin()};
    ASSERT_TRUE(set_cpus(0, one).ok());
    EXPECT_EQ(cpus_of(0).value(), one);
    EXPECT_EQ(set_cpus(0, {}).error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(cpus_of(0).value(), one);
  }).join();
}

TEST(CpuSets, TakenFromAnother) {
  std::thread([] {
    const CpuSet all = cpus_of(0).value();
    const pid_t other = ::fork();
    if (other == 0) {
      ::pause();
      ::_exit(0);
    }
    const CpuSet one = {*all.begin()};
    ASSERT_TRUE(set_cpus(other, one).ok());
    EXPECT_EQ(cpus_of(0).value(), all);
    take_cpus_of(other);
    EXPECT_EQ(cpus_of(0).value(), one);
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
    take_cpus_of(other);  // who has gone has nothing to give
    EXPECT_EQ(cpus_of(0).value(), one);
    EXPECT_EQ(cpus_of(other).error().code, ErrorCode::not_found);
  }).join();
}

}  // namespace
}  // namespace harena
