#include "plugins/e2b/warm/shelf.hpp"

#include <gtest/gtest.h>

namespace harena::e2b {
namespace {

TEST(Shelf, TheOldestIsTakenOnce) {
  Shelf shelf;
  shelf.put("a");
  shelf.put("b");
  shelf.put("a");
  EXPECT_EQ(shelf.size(), 2u);
  EXPECT_EQ(shelf.take(), "a");
  EXPECT_EQ(shelf.take(), "b");
  EXPECT_EQ(shelf.take(), std::nullopt);
}

TEST(Shelf, AListReplacesWhatIsThere) {
  Shelf shelf;
  shelf.put("gone");
  shelf.put("here");
  shelf.replace({"here", "new"}, shelf.taken());
  EXPECT_EQ(shelf.take(), "here");
  EXPECT_EQ(shelf.take(), "new");
  EXPECT_EQ(shelf.take(), std::nullopt);
}

TEST(Shelf, AnOldListDoesNotBringBackWhatWasTaken) {
  Shelf shelf;
  shelf.put("a");
  shelf.put("b");
  const auto began = shelf.taken();
  EXPECT_EQ(shelf.take(), "a");
  shelf.replace({"a", "b"}, began);
  EXPECT_EQ(shelf.take(), "b");
  EXPECT_EQ(shelf.take(), std::nullopt);
  shelf.replace({"a"}, shelf.taken());  // its claim failed, and a new list shows it
  EXPECT_EQ(shelf.take(), "a");
}

}  // namespace
}  // namespace harena::e2b
