#include "sdk/support/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

namespace harena {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "harena-files-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
    auto opened = open_directory(AT_FDCWD, name);
    ASSERT_TRUE(opened.ok());
    folder_ = std::move(*opened);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  std::string path_;
  UniqueFd folder_;
};

TEST_F(Files, WriteAndRead) {
  ASSERT_TRUE(create_file_at(folder_.get(), "a", "text", 0600).ok());
  EXPECT_EQ(read_file_at(folder_.get(), "a").value(), "text");
  ASSERT_TRUE(write_file_at(folder_.get(), "a", "T").ok());
  EXPECT_EQ(read_file_at(folder_.get(), "a").value(), "Text");
  EXPECT_EQ(read_file_at(folder_.get(), "a", 2).error().code, ErrorCode::out_of_range);
  EXPECT_EQ(write_file_at(folder_.get(), "missing", "x").error().code, ErrorCode::not_found);
}

TEST_F(Files, NeverThroughAFinalLink) {
  ASSERT_EQ(::symlinkat("/etc", folder_.get(), "link"), 0);
  EXPECT_FALSE(open_directory(folder_.get(), "link").ok());
  EXPECT_FALSE(create_file_at(folder_.get(), "link", "x", 0600).ok());
}

TEST_F(Files, RemoveTreeFollowsNothing) {
  const std::string outside = path_ + "/outside";
  std::filesystem::create_directories(path_ + "/tree/a/b/c");
  std::filesystem::create_directories(outside + "/kept");
  ASSERT_EQ(::symlinkat(outside.c_str(), folder_.get(), "tree/a/link"), 0);
  ASSERT_TRUE(create_file_at(folder_.get(), "tree/a/b/file", "x", 0600).ok());
  ASSERT_TRUE(remove_tree_at(folder_.get(), "tree").ok());
  EXPECT_FALSE(std::filesystem::exists(path_ + "/tree"));
  EXPECT_TRUE(std::filesystem::exists(outside + "/kept"));
  EXPECT_TRUE(remove_tree_at(folder_.get(), "tree").ok());
}

TEST_F(Files, RemoveTreeDeeperThanAnyPath) {
  int level = ::dup(folder_.get());
  const std::string name(200, 'n');
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(::mkdirat(level, name.c_str(), 0755), 0);
    const int below = ::openat(level, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(level);
    level = below;
  }
  ::close(level);
  EXPECT_TRUE(remove_tree_at(folder_.get(), name).ok());
  EXPECT_TRUE(list_directory(folder_.get(), ".").value().empty());
}

TEST_F(Files, RemoveTreeOfNamesLikeItsOwn) {
  std::filesystem::create_directories(path_ + "/tree/.r0/x/.r1/y");
  std::filesystem::create_directories(path_ + "/tree/.r1/z");
  EXPECT_TRUE(remove_tree_at(folder_.get(), "tree").ok());
  EXPECT_FALSE(std::filesystem::exists(path_ + "/tree"));
}

}  // namespace
}  // namespace harena
