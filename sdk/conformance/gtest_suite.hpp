#pragma once
// The kit as a GoogleTest suite, for a plugin that is linked into the test program (static registration):
//
//   extern "C" const harena_plugin_descriptor* harena_plugin_entry_mine();
//   int main(int argc, char** argv) {
//     testing::InitGoogleTest(&argc, argv);
//     harena::conformance::register_suite("Mine", [] {
//       return harena::conformance::Subject{.descriptor = harena_plugin_entry_mine(), .config = {{"root", "{tmp}/mine"}}};
//     });
//     return RUN_ALL_TESTS();
//   }
//
// Each case is a test, run in a child process; no thread may run in the program between tests.

#include <gtest/gtest.h>

#include <functional>

#include "sdk/conformance/runner.hpp"

namespace harena::conformance {

class ConformanceTest : public testing::Test {
 public:
  ConformanceTest(Case one, std::function<Subject()> factory) : case_(std::move(one)), factory_(std::move(factory)) {}
  void TestBody() override {
    CaseReport report = run_case(case_, factory_());
    if (report.outcome == Outcome::skipped) GTEST_SKIP() << report.message;
    EXPECT_FALSE(is_bad(report.outcome)) << to_string(report.outcome) << ": " << report.message << "\npromise: " << report.promise << "\n" << report.output;
  }

 private:
  Case case_;
  std::function<Subject()> factory_;
};

/// Registers a test for every case that applies, up to `level`. `factory` is called for each.
inline void register_suite(const char* suite, std::function<Subject()> factory, int level = 2) {
  for (const auto& one : applicable_cases(factory(), level)) {
    testing::RegisterTest(suite, one.name.c_str(), nullptr, one.promise.c_str(), __FILE__, __LINE__,
                          [one, factory]() -> ConformanceTest* { return new ConformanceTest(one, factory); });
  }
}

}  // namespace harena::conformance
