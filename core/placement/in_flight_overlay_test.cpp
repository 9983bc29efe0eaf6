#include "core/placement/in_flight_overlay.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace harena {
namespace {

const NodeAmount kOne{1, 100, 10};

TEST(InFlightOverlay, CountsUntilTheCreateFails) {
  InFlightOverlay overlay;
  {
    auto a = overlay.begin("n1", kOne);
    auto b = overlay.begin("n1", kOne);
    EXPECT_EQ(overlay.snapshot().at("n1"), (NodeAmount{2, 200, 20}));
    b.drop();
    b.drop();
    EXPECT_EQ(overlay.snapshot().at("n1"), kOne);
  }
  EXPECT_TRUE(overlay.snapshot().empty());
}

TEST(InFlightOverlay, OnlyAReportTakenAfterItWasMadeEndsIt) {
  InFlightOverlay overlay;
  auto ticket = overlay.begin("n1", kOne);
  overlay.on_report("n1", 50);  // still being made
  EXPECT_EQ(overlay.snapshot().size(), 1u);
  ticket.made(100);
  overlay.on_report("n1", 99);  // asked before, answered late
  overlay.on_report("n2", 200);
  EXPECT_EQ(overlay.snapshot().size(), 1u);
  overlay.on_report("n1", 100);
  EXPECT_TRUE(overlay.snapshot().empty());
}

TEST(InFlightOverlay, ForgetEndsAllOfANodeAndLateTicketsAreHarmless) {
  InFlightOverlay overlay;
  auto a = overlay.begin("n1", kOne);
  auto b = overlay.begin("n1", kOne);
  auto c = overlay.begin("n2", kOne);
  overlay.forget("n1");
  a.made(5);
  b.drop();
  EXPECT_EQ(overlay.snapshot().size(), 1u);
}

TEST(InFlightOverlay, TicketsMoveAndMayOutliveTheOverlay) {
  std::optional<InFlightOverlay> overlay(std::in_place);
  auto a = overlay->begin("n1", kOne);
  auto b = std::move(a);
  a = overlay->begin("n2", kOne);
  b = std::move(a);
  EXPECT_EQ(overlay->snapshot().size(), 1u);
  overlay.reset();
  b.drop();
}

}  // namespace
}  // namespace harena
