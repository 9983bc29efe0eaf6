#include "plugins/container/cpu_places.hpp"

#include <gtest/gtest.h>

namespace harena::container {
namespace {

const CpuSet kFour = {0, 1, 2, 3};

TEST(CpuPlacing, AsManyAsItMayUseRoundedUp) {
  CpuPlaces places;
  EXPECT_EQ(places.place("a", 10, kFour).size(), 1u);
  EXPECT_EQ(places.place("b", 1000, kFour).size(), 1u);
  EXPECT_EQ(places.place("c", 1001, kFour).size(), 2u);
  EXPECT_EQ(places.place("d", 4000, kFour), kFour);
  EXPECT_EQ(places.place("e", 64'000, kFour), kFour);
}

TEST(CpuPlacing, NobodySharesWhileThereIsEnough) {
  CpuPlaces places;
  CpuSet used;
  for (const char* id : {"a", "b", "c", "d"}) {
    const CpuSet own = places.place(id, 1000, kFour);
    EXPECT_EQ(own.size(), 1u);
    used.insert(own.begin(), own.end());
  }
  EXPECT_EQ(used, kFour);
}

TEST(CpuPlacing, LeastPromisedFirst) {
  CpuPlaces places;
  places.place("half", 500, {0, 1});       // on 0
  places.place("quarter", 250, {0, 1});    // on 1
  EXPECT_EQ(places.place("a", 100, {0, 1}), CpuSet{1});
  EXPECT_EQ(places.place("b", 100, {0, 1}), CpuSet{1});
  places.forget("half");
  EXPECT_EQ(places.place("c", 100, {0, 1}), CpuSet{0});
}

TEST(CpuPlacing, OnlyWhatIsAllowed) {
  CpuPlaces places;
  EXPECT_EQ(places.place("a", 1000, {2, 3}), CpuSet{2});
  EXPECT_EQ(places.place("b", 1000, {2, 3}), CpuSet{3});
  EXPECT_EQ(places.place("c", 3000, {2, 3}), (CpuSet{2, 3}));
}

TEST(CpuPlacing, KeepsItsOwnWhenItGrowsAndGivesTheRestBack) {
  CpuPlaces places;
  places.place("other", 1000, kFour);
  const CpuSet one = places.place("a", 1000, kFour);
  const CpuSet two = places.place("a", 2000, kFour);
  EXPECT_EQ(two.size(), 2u);
  EXPECT_EQ(two.count(*one.begin()), 1u);
  EXPECT_EQ(two.count(0), 0u) << "the other's";
  places.place("a", 1000, kFour);
  places.forget("a");
  places.forget("a");
  EXPECT_EQ(places.place("b", 3000, kFour), (CpuSet{1, 2, 3}));
}

TEST(CpuPlacing, KnowsThoseOfBeforeARestart) {
  CpuPlaces places;
  places.adopt("a", {0});
  places.adopt("a", {0, 1, 2, 3});  // known already
  places.adopt("b", {1});
  EXPECT_EQ(places.place("c", 2000, kFour), (CpuSet{2, 3}));
  places.forget("a");
  places.forget("c");
  EXPECT_EQ(places.place("d", 3000, kFour), (CpuSet{0, 2, 3}));
}

}  // namespace
}  // namespace harena::container
