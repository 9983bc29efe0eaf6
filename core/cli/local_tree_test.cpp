#include "core/cli/local_tree.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace harena::cli {
namespace {

namespace fs = std::filesystem;

class LocalTreeTest : public testing::Test {
 protected:
  LocalTreeTest() {
    std::string pattern = testing::TempDir() + "local_tree.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~LocalTreeTest() override { fs::remove_all(folder_); }
  fs::path folder_;
};

Status put(const LocalTree& tree, const PathParts& parts, std::string_view bytes, unsigned mode = 0644) {
  HARENA_TRY(const auto file, tree.create(parts, mode));
  HARENA_TRY_STATUS(file->write(bytes));
  return file->commit();
}

TEST_F(LocalTreeTest, WritesBelow) {
  const auto tree = LocalTree::open(folder_ / "out");
  ASSERT_TRUE(tree.ok());
  ASSERT_TRUE(tree->mkdir({"a"}, 0755).ok());
  ASSERT_TRUE(tree->mkdir({"a"}, 0755).ok());
  ASSERT_TRUE(put(*tree, {"a", "f"}, "text", 04755).ok());
  struct stat info {};
  ASSERT_EQ(::stat((folder_ / "out/a/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755U);
  ASSERT_TRUE(tree->symlink({"a", "l"}, "f").ok());
  ASSERT_TRUE(tree->symlink({"a", "l"}, "elsewhere").ok());
  EXPECT_EQ(fs::read_symlink(folder_ / "out/a/l"), "elsewhere");
}

TEST_F(LocalTreeTest, NeverThroughALink) {
  fs::create_directories(folder_ / "outside");
  const auto tree = LocalTree::open(folder_ / "out");
  ASSERT_TRUE(tree.ok());
  ASSERT_TRUE(tree->symlink({"a"}, folder_ / "outside").ok());
  EXPECT_FALSE(tree->mkdir({"a"}, 0755).ok());
  const auto refused = put(*tree, {"a", "passwd"}, "x");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("links aren't followed"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_ / "outside"));
  // A link in a file's place is replaced, not written through.
  std::ofstream(folder_ / "outside/target") << "safe";
  ASSERT_TRUE(tree->symlink({"file"}, folder_ / "outside/target").ok());
  ASSERT_TRUE(put(*tree, {"file"}, "new").ok());
  std::string text;
  std::getline(std::ifstream(folder_ / "outside/target"), text);
  EXPECT_EQ(text, "safe");
}

TEST_F(LocalTreeTest, WhatIsntCommittedIsGone) {
  const auto tree = LocalTree::open(folder_ / "out");
  ASSERT_TRUE(tree->create({"half"}, 0644).ok());
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));
}

TEST(PartsTest, OnlyPlainPathsBelow) {
  EXPECT_EQ(*parts_below("/w", "/w/a/b"), (PathParts{"a", "b"}));
  EXPECT_EQ(*parts_below("/", "/etc"), (PathParts{"etc"}));
  for (const char* path : {"/w", "/w/", "/x/a", "/wx", "/w/../x", "/w/./a", "/w/a/..", "/w//a", "/w/a//b", ""}) {
    EXPECT_FALSE(parts_below("/w", path).ok()) << path;
  }
}

TEST_F(LocalTreeTest, WalkFindsAllAndNamesWhatCantBeCopied) {
  fs::create_directories(folder_ / "sub");
  std::ofstream(folder_ / "sub/f") << "12345";
  fs::create_symlink("/nowhere", folder_ / "link");
  const auto found = walk(folder_);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 3U);
  EXPECT_EQ((*found)[0].target, "/nowhere");
  EXPECT_EQ((*found)[2].relative, "sub/f");
  EXPECT_EQ((*found)[2].size, 5);
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(walk(folder_).error().message.find("pipe"), std::string::npos);
}

}  // namespace
}  // namespace harena::cli
