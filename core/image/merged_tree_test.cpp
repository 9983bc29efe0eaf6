#include "core/image/merged_tree.hpp"

#include <gmock/gmock.h>

namespace harena::image {
namespace {

using ::testing::HasSubstr;

FileEntry entry(EntryType type, std::string link = {}) {
  FileEntry made;
  made.type = type;
  made.link = std::move(link);
  return made;
}

TEST(NormalisePath, KeepsTheNameAndNothingElse) {
  EXPECT_EQ(*normalise_path("./a//b/./c/"), "a/b/c");
  EXPECT_EQ(*normalise_path("/etc/passwd"), "etc/passwd");
  EXPECT_EQ(*normalise_path("./"), "");
  EXPECT_EQ(*normalise_path("a/..b"), "a/..b");
  EXPECT_EQ(*normalise_path("\xff\x01"), "\xff\x01");
}

TEST(NormalisePath, RefusesWhatLeadsOutOrCannotBe) {
  for (const std::string& bad : {std::string("../x"), std::string("a/../../x"), std::string(".."), std::string("a\0b", 3),
                                 std::string(256, 'n'), std::string(5000, '/') + "x"}) {
    EXPECT_EQ(normalise_path(bad).error().code, ErrorCode::invalid_argument) << bad.substr(0, 20);
  }
}

TEST(MergedTree, ResolvesLinksInsideTheTree) {
  MergedTree tree;
  tree.begin_layer();
  ASSERT_TRUE(tree.put("usr", entry(EntryType::folder)).ok());
  ASSERT_TRUE(tree.put("usr/bin", entry(EntryType::folder)).ok());
  ASSERT_TRUE(tree.put("bin", entry(EntryType::symlink, "usr/bin")).ok());
  ASSERT_TRUE(tree.put("usr/up", entry(EntryType::symlink, "../../../../../etc")).ok());
  ASSERT_TRUE(tree.put("abs", entry(EntryType::symlink, "/usr/up/x")).ok());
  EXPECT_EQ(*tree.resolve_folder("bin"), "usr/bin");
  EXPECT_EQ(*tree.resolve_folder("bin/new"), "usr/bin/new");
  EXPECT_EQ(*tree.resolve_folder("usr/up"), "etc");
  EXPECT_EQ(*tree.resolve_folder("abs/y"), "etc/x/y");
}

TEST(MergedTree, RefusesLoopsAndFilesInTheWay) {
  MergedTree tree;
  tree.begin_layer();
  ASSERT_TRUE(tree.put("a", entry(EntryType::symlink, "b")).ok());
  ASSERT_TRUE(tree.put("b", entry(EntryType::symlink, "a")).ok());
  ASSERT_TRUE(tree.put("f", entry(EntryType::file)).ok());
  EXPECT_THAT(tree.resolve_folder("a/x").error().message, HasSubstr("loop"));
  EXPECT_THAT(tree.resolve_folder("f/x").error().message, HasSubstr("used as a folder"));
}

TEST(MergedTree, KnowsWhatLowerLayersHave) {
  MergedTree tree;
  tree.begin_layer();
  ASSERT_TRUE(tree.put("d", entry(EntryType::folder)).ok());
  ASSERT_TRUE(tree.put("d/low", entry(EntryType::file)).ok());
  tree.begin_layer();
  ASSERT_TRUE(tree.put("d", entry(EntryType::folder)).ok());
  ASSERT_TRUE(tree.put("d/own", entry(EntryType::file)).ok());
  EXPECT_TRUE(tree.find("d")->below);
  tree.hide_lower("d");
  EXPECT_EQ(tree.find("d/low"), nullptr);
  EXPECT_NE(tree.find("d/own"), nullptr);
  EXPECT_FALSE(tree.remove("d/own"));
  EXPECT_TRUE(tree.remove("d"));
  EXPECT_FALSE(tree.remove("d"));
}

TEST(MergedTree, AFileInPlaceOfAFolderTakesItsContentAway) {
  MergedTree tree;
  tree.begin_layer();
  ASSERT_TRUE(tree.put("d", entry(EntryType::folder)).ok());
  ASSERT_TRUE(tree.put("d/x", entry(EntryType::file)).ok());
  ASSERT_TRUE(tree.put("d0", entry(EntryType::file)).ok());
  ASSERT_TRUE(tree.put("d", entry(EntryType::file)).ok());
  EXPECT_EQ(tree.find("d/x"), nullptr);
  EXPECT_NE(tree.find("d0"), nullptr);
}

}  // namespace
}  // namespace harena::image
