#include "sdk/support/resource_limit.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace harena {
namespace {

TEST(ResourceLimit, Parses) {
  EXPECT_EQ(ResourceLimit::parse("nofile=65536")->value, 65536u);
  EXPECT_EQ(ResourceLimit::parse("core=0")->resource, RLIMIT_CORE);
  EXPECT_EQ(ResourceLimit::parse("fsize=9223372036854775807")->resource, RLIMIT_FSIZE);
}

TEST(ResourceLimit, RefusesAndNames) {
  for (const char* wrong : {"", "nofile", "nofile=", "nofile=-1", "nofile=1x", "stack=1", "=1"}) {
    auto parsed = ResourceLimit::parse(wrong);
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument) << wrong;
  }
  EXPECT_NE(ResourceLimit::parse("stack=1").error().message.find("'stack=1'"), std::string::npos);
}

TEST(ResourceLimit, AppliesSoftAndHard) {
  const pid_t child = ::fork();
  if (child == 0) {
    rlimit now{};
    const bool good = ResourceLimit::parse("nofile=100")->apply().ok() && ::getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == 100 && now.rlim_max == 100;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace harena
