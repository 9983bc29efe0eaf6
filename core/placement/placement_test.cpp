#include "core/placement/placement.hpp"

#include <gtest/gtest.h>

namespace harena {
namespace {

struct PlacementTest : testing::Test {
  PlacementTest() {
    for (const char* name : {"n1", "n2", "n3"}) {
      NodeView node{.name = name, .healthy = true, .capacity = {10, 8'000, 1'000}};
      node.backends = {"container"};
      nodes.push_back(node);
    }
    request.backend = "container";
  }
  PlacementInput input() const { return {nodes, in_flight, request}; }
  Placement placed() { return place(input(), random); }
  RefusalReason only_reason() {
    nodes.resize(1);
    const auto placement = placed();
    EXPECT_TRUE(placement.candidates.empty());
    EXPECT_EQ(placement.refusals.size(), 1u);
    return placement.refusals.at(0).reason;
  }
  std::vector<NodeView> nodes;
  InFlight in_flight;
  PlacementRequest request;
  SeededRandom random{3};
};

TEST_F(PlacementTest, AtMostThreeDifferentCandidates) {
  nodes.push_back(nodes[0]);
  nodes.back().name = "n4";
  for (int i = 0; i < 100; ++i) {
    const auto found = placed().candidates;
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(std::set(found.begin(), found.end()).size(), 3u);
  }
}

TEST_F(PlacementTest, EveryFilterHasItsReason) {
  const auto fresh = nodes;
  request.excluded = {"n1"};
  EXPECT_EQ(only_reason(), RefusalReason::excluded);
  request.excluded.clear();
  nodes[0].healthy = false;
  EXPECT_EQ(only_reason(), RefusalReason::unhealthy);
  nodes = fresh, nodes[0].backends.clear();
  EXPECT_EQ(only_reason(), RefusalReason::backend);
  nodes = fresh, request.labels = {{"gpu", "a100"}};
  EXPECT_EQ(only_reason(), RefusalReason::label);
  nodes[0].labels = {{"gpu", "t4"}};
  EXPECT_EQ(only_reason(), RefusalReason::label);
  request.labels.clear();
  nodes = fresh, nodes[0].used.sandboxes = 10;
  EXPECT_EQ(only_reason(), RefusalReason::sandboxes);
  nodes = fresh, request.demand.cpu_milli = 8'001;
  EXPECT_EQ(only_reason(), RefusalReason::cpu);
  request.demand = {1, 0, 501}, nodes[0].used.memory_bytes = 500;
  EXPECT_EQ(only_reason(), RefusalReason::memory);
}

TEST_F(PlacementTest, WhatIsInFlightTakesRoom) {
  nodes.resize(1);
  in_flight["n1"] = {9, 0, 0};
  EXPECT_EQ(placed().candidates.size(), 1u);
  in_flight["n1"] = {10, 0, 0};
  EXPECT_EQ(only_reason(), RefusalReason::sandboxes);
}

TEST_F(PlacementTest, WhatIsntAskedForIsntLacking) {
  nodes.resize(1);
  nodes[0].used = {0, 9'000, 2'000};  // overdrawn, after the operator lowered the capacity
  EXPECT_EQ(placed().candidates.size(), 1u);
  nodes[0].capacity.memory_bytes = 0;
  EXPECT_EQ(placed().candidates.size(), 1u);
}

TEST_F(PlacementTest, ExactlyFullFits) {
  nodes.resize(1);
  request.demand = {10, 8'000, 1'000};
  EXPECT_EQ(placed().candidates.size(), 1u);
  EXPECT_DOUBLE_EQ(load_with(nodes[0], {}, request.demand), 1.0);
}

TEST_F(PlacementTest, HugeNumbersDontOverflow) {
  nodes.resize(1);
  nodes[0].used.memory_bytes = INT64_MAX;
  request.demand.memory_bytes = INT64_MAX;
  EXPECT_EQ(only_reason(), RefusalReason::memory);
}

TEST_F(PlacementTest, TheLessLoadedOfTwoComesFirst) {
  nodes.resize(2);
  nodes[0].used.cpu_milli = 4'000;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(placed().candidates, (std::vector<std::size_t>{1, 0}));
  in_flight["n2"] = {0, 0, 600};  // the scarcest resource decides
  for (int i = 0; i < 50; ++i) EXPECT_EQ(placed().candidates, (std::vector<std::size_t>{0, 1}));
}

TEST_F(PlacementTest, WhatNoEmptyNodeCouldHoldIsNotWorthWaitingFor) {
  request.demand.cpu_milli = 1'000'000'000;
  const auto error = no_candidate_error(placed(), input());
  EXPECT_EQ(error.code, ErrorCode::failed_precondition) << error.message;
  EXPECT_EQ(error.retry, Retry::never);
}

TEST_F(PlacementTest, TheErrorCountsReasonsWithExamples) {
  nodes[0].healthy = false;
  nodes[0].why_unhealthy = "hasn't answered for 12 s";
  nodes[1].backends.clear();
  nodes[1].unusable_backends["container"] = "no user namespaces";
  nodes[2].used.sandboxes = 10;
  const auto error = no_candidate_error(placed(), input());
  EXPECT_EQ(error.code, ErrorCode::resource_exhausted);
  EXPECT_EQ(error.message,
            "no node can take it: of 3, 1 not healthy (n1 hasn't answered for 12 s), 1 without a usable backend "
            "'container' (n2 no user namespaces), 1 without room for another sandbox (n3 promises 10 of 10)");
}

TEST_F(PlacementTest, TheCodeTellsWhetherWaitingHelps) {
  request.backend = "microvm";
  EXPECT_EQ(no_candidate_error(placed(), input()).code, ErrorCode::failed_precondition);
  nodes[0].healthy = false;
  EXPECT_EQ(no_candidate_error(placed(), input()).code, ErrorCode::unavailable);
  nodes.clear();
  EXPECT_EQ(no_candidate_error(placed(), input()).code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace harena
