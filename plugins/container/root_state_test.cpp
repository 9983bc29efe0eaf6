#include "plugins/container/root_state.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

class RootStateFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "root-state-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void put(std::string_view text) { ASSERT_TRUE(create_file_at(AT_FDCWD, folder_ + "/root.json", text, 0600).ok()); }

  std::string folder_;
};

RootRecord on_layers(int number) {
  RootRecord record;
  for (int i = 0; i < number; ++i) {
    record.now = record.now.following();
    record.now.frozen.push_back({"layer-" + std::to_string(i), 7});
  }
  return record;
}

TEST_F(RootStateFile, NoneMeansTheFirstNames) {
  const auto read = RootRecord::read(folder_);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->now.upper, "u");
  EXPECT_TRUE(read->now.frozen.empty());
  EXPECT_FALSE(read->next);
}

/// Each write takes the place of the one before, also of what that left beside it.
TEST_F(RootStateFile, TheLastOneWrittenIsRead) {
  for (int number : {1, 5, 2, 3}) {
    auto record = on_layers(number);
    if (number == 5) record.next = RootState::Change{record.now.following(), "next-layer"};
    ASSERT_TRUE(record.write(folder_).ok());
    const auto read = RootRecord::read(folder_);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->now.frozen, record.now.frozen);
    EXPECT_EQ(read->now.upper, "u" + std::to_string(number));
    EXPECT_EQ(read->next.has_value(), number == 5);
  }
}

/// A writer that died with half a file beside the good one is of no account.
TEST_F(RootStateFile, HalfAFileBesideItIsReplaced) {
  ASSERT_TRUE(on_layers(1).write(folder_).ok());
  ASSERT_TRUE(create_file_at(AT_FDCWD, folder_ + "/root.json.new", R"({"version":)", 0600).ok());
  EXPECT_EQ(RootRecord::read(folder_)->now.upper, "u1");
  ASSERT_TRUE(on_layers(2).write(folder_).ok());
  EXPECT_EQ(RootRecord::read(folder_)->now.upper, "u2");
}

/// What a writer has open or linked stays as it was: the new text is in a new file.
TEST_F(RootStateFile, TheOldFileIsNotWrittenInto) {
  ASSERT_TRUE(on_layers(1).write(folder_).ok());
  struct stat before{}, after{};
  ASSERT_EQ(::stat((folder_ + "/root.json").c_str(), &before), 0);
  ASSERT_TRUE(on_layers(2).write(folder_).ok());
  ASSERT_EQ(::stat((folder_ + "/root.json").c_str(), &after), 0);
  EXPECT_NE(before.st_ino, after.st_ino);
}

TEST_F(RootStateFile, LostWithTheMachineMeansNone) {
  for (const auto& text : {std::string(), std::string(100, '\0')}) {
    put(text);
    const auto read = RootRecord::read(folder_);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->now.upper, "u");
  }
}

TEST_F(RootStateFile, WhatIsNoRecordIsToldApart) {
  for (const char* text : {"{", R"({"version": 1})", "[]"}) {
    put(text);
    const auto read = RootRecord::read(folder_);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::data_loss) << text;
  }
  put(R"({"version": 2})");
  EXPECT_EQ(RootRecord::read(folder_).error().code, ErrorCode::failed_precondition);
}

}  // namespace
}  // namespace harena::container
