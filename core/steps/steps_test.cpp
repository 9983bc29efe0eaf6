#include "core/steps/steps.hpp"

#include <gtest/gtest.h>

namespace harena {
namespace {

struct Trace {
  std::vector<std::string> lines;
  Step step(const std::string& name, bool fails = false) {
    return {name,
            [this, name, fails]() -> Status {
              lines.push_back("+" + name);
              return fails ? Status(make_error(ErrorCode::internal, "no " + name)) : ok_status();
            },
            [this, name] { lines.push_back("-" + name); }};
  }
};

TEST(Steps, StopRunsBackwardsAndOnce) {
  Trace trace;
  StepList list([](const std::string&) {});
  list.add(trace.step("a"));
  list.add(trace.step("b"));
  ASSERT_TRUE(list.start().ok());
  list.stop();
  list.stop();
  EXPECT_EQ(trace.lines, (std::vector<std::string>{"+a", "+b", "-b", "-a"}));
}

TEST(Steps, AFailureStopsWhatWasStartedAndNamesTheStep) {
  Trace trace;
  StepList list([](const std::string&) {});
  list.add(trace.step("a"));
  list.add(trace.step("b", true));
  list.add(trace.step("c"));
  const auto status = list.start();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().describe().find("starting: b"), std::string::npos);
  EXPECT_EQ(trace.lines, (std::vector<std::string>{"+a", "+b", "-a"}));
}

}  // namespace
}  // namespace harena
