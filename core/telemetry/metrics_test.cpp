#include "core/telemetry/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace harena {
namespace {

using testing::HasSubstr;

TEST(Metrics, RendersTheTextFormat) {
  MetricsRegistry registry;
  registry.counter("b_total", "Back\\slash\nand line.", {"path"}).with({"a\"b\\c\nd"}).add(2);
  registry.gauge("a", "First.").only().set(1.5);
  auto& histogram = registry.histogram("c_seconds", "Durations.", {}, {0.1, 1}).only();
  for (const double value : {0.05, 0.1, 0.5, 7.0}) histogram.observe(value);
  registry.computed("d", "Computed.", "gauge", [] { return 42.0; });
  EXPECT_EQ(registry.render(),
            "# HELP a First.\n# TYPE a gauge\na 1.5\n"
            "# HELP b_total Back\\\\slash\\nand line.\n# TYPE b_total counter\nb_total{path=\"a\\\"b\\\\c\\nd\"} 2\n"
            "# HELP c_seconds Durations.\n# TYPE c_seconds histogram\n"
            "c_seconds_bucket{le=\"0.1\"} 2\nc_seconds_bucket{le=\"1\"} 3\nc_seconds_bucket{le=\"+Inf\"} 4\n"
            "c_seconds_sum 7.65\nc_seconds_count 4\n"
            "# HELP d Computed.\n# TYPE d gauge\nd 42\n");
}

TEST(Metrics, TheSameNameIsTheSameFamily) {
  MetricsRegistry registry;
  registry.counter("x_total", "X.", {"l"}).with({"1"}).add();
  registry.counter("x_total", "X.", {"l"}).with({"1"}).add();
  EXPECT_EQ(registry.counter("x_total", "X.", {"l"}).with({"1"}).value(), 2u);
  EXPECT_THROW(registry.gauge("x_total", "X.", {"l"}), std::logic_error);
  EXPECT_THROW(registry.counter("x_total", "X.", {"m"}), std::logic_error);
  EXPECT_THROW(registry.counter("bad-name", "X."), std::logic_error);
  EXPECT_THROW(registry.counter("x_total", "X.", {"l"}).with({}), std::logic_error);
}

TEST(Metrics, SeriesAreBounded) {
  MetricsRegistry registry;
  auto& family = registry.counter("x_total", "X.", {"l"});
  for (int i = 0; i < 5000; ++i) family.with({std::to_string(i)}).add();
  EXPECT_EQ(family.with({"other"}).value(), 5000 - Family<Counter>::kMaxSeries);
}

TEST(Metrics, CountFromManyThreads) {
  MetricsRegistry registry;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) {
        registry.counter("x_total", "X.", {"l"}).with({std::to_string(i % 3)}).add();
        registry.gauge("g", "G.").only().add(1);
        registry.histogram("h", "H.").only().observe(0.5);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(registry.gauge("g", "G.").only().value(), 40000);
  EXPECT_THAT(registry.render(), HasSubstr("h_count 40000\n"));
}

TEST(MetricsTest, WhatOthersCountIsShownAsTheyNameIt) {
  MetricsRegistry registry;
  registry.collected([] {
    return std::vector<CollectedSample>{{"x_total", "Things.", "counter", {{"a", "q\"uote"}}, 2},
                                        {"x_total", "Things.", "counter", {{"a", "b"}}, 3},
                                        {"y", "Others.", "gauge", {}, 0.5}};
  });
  EXPECT_EQ(registry.render(),
            "# HELP x_total Things.\n# TYPE x_total counter\nx_total{a=\"q\\\"uote\"} 2\nx_total{a=\"b\"} 3\n"
            "# HELP y Others.\n# TYPE y gauge\ny 0.5\n");
}

}  // namespace
}  // namespace harena
